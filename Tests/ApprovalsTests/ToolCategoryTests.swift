import RelayJSON
import RelayWire
import Testing

@testable import Approvals

func bash(_ command: String, in directory: String = "/work") -> ToolCall {
  ToolCall(tool: "bash", input: ["command": .string(command)], directory: directory)
}

@Suite(.timeLimit(.minutes(1))) struct ToolCategoryTests {
  @Test(arguments: [
    "git push", "git -C x push origin main", "env X=1 git push", "X=1 Y='a b' git push", "sudo -u bob git push",
    "cd a && git push", "a; git push", "make\ngit push", "git \\\n  push", "git   pull --rebase", "git fetch --all",
    "git remote add origin x", "/usr/bin/git push", "\"git\" 'push'", "g\\it push", "gi\"t\" push", "GIT PUSH",
    "git --git-dir=/x --no-pager push", "git --git-dir /x -c a.b=c push", "git -C \"$(pwd)\" push",
    "git -C $(pwd) push", "git -C `pwd` push", "bash -c 'git push'", "sh -c \"cd x && git push\"",
    "bash -c \"sh -c 'git push'\"", "x=$(git push)", "echo `git push`", "echo \"$(git push)\"", "(git push)",
    "{ git push; }", "git 2>/dev/null push", "git push>log 2>&1", "git push &", "if git push; then echo; fi",
    "find . -name x -exec git -C {} push \\;", "timeout 5 git push", "xargs git push", "! git push",
    "ssh host git push", "ssh host 'cd x; git push'", "eval git 'push origin'", "git${IFS}push", "git$IFS'push'",
    "bash <<< 'git push'", "bash <<EOF\ngit push\nEOF", "echo 'git push' | sh", "git -c alias.x=push x",
    "git -c alias.x='!git push' x", "git subtree push --prefix a origin b", "git lfs fetch", "git send-pack x",
    "/usr/lib/git-core/git-push", "git-fetch", "gh release create v1", "gh -R a/b repo delete", "git push # done",
    "true || git push", "ls # don't\ngit push", "python3 -c \"import os; os.system('git push')\"", "\tgit\tpush\r",
    "CMD='git push'; $CMD", "echo ')' $(echo ')'; git push)",
  ])
  func `commands that reach a git remote are recognised in every spelling`(command: String) {
    #expect(bash(command).categories.contains(.gitRemote))
  }

  @Test(arguments: [
    "npm publish", "pnpm -r publish", "pnpm --filter a publish", "yarn npm publish", "npm -w a publish --access public",
    "twine upload dist/*", "python -m twine upload x", "docker push a/b", "docker image push a", "cargo publish",
    "docker buildx build --push .", "cargo +nightly publish", "NPM_TOKEN=x npm publish",
  ])
  func `commands that publish are recognised`(command: String) {
    #expect(bash(command).categories == [.publish])
  }

  @Test(arguments: [
    "rm -r x", "rm -rf x", "rm -fr x", "rm -r -f x", "rm x -R", "rm --recursive x", "rm -f --rec x", "\\rm -rf x",
    "/bin/rm -rf /", "command rm -rf x", "sudo ls", "chmod 777 x", "chmod -R 0777 x", "chown a x", "mkfs /dev/x",
    "mkfs.ext4 /dev/x", "/sbin/mkfs.xfs x", "dd if=/dev/zero of=x", "dd of=x <y", "killall x", "pkill x",
    "true; rm -rf x", "bash -c 'rm -rf x'", "find . | xargs rm -rf",
  ])
  func `destructive commands are recognised`(command: String) {
    #expect(bash(command).categories == [.destructive])
  }

  @Test(arguments: [
    "ls", "git status", "git commit -m 'Push it later'", "git commit -m push", "git stash push", "git log --remotes",
    "git checkout remote", "rm x", "rm -f x", "chmod 644 x", "npm install", "npm test", "docker pull x", "cargo build",
    "dd count=1", "gh pr create", "digit push", "", "git", "legit push", "echo push",
  ])
  func `other commands are the shell's`(command: String) {
    #expect(bash(command).categories == [.shell])
  }

  @Test func `a command line with several effects has several categories`() {
    #expect(bash("sudo git push && npm publish").categories == [.gitRemote, .publish, .destructive])
  }

  @Test(arguments: [
    ("write", [ToolCategory.fileWrite]), ("Edit", [.fileWrite]), ("read", [.custom]), ("deploy", [.custom]),
  ])
  func `tools other than bash are recognised by their names`(tool: String, categories: [ToolCategory]) {
    let input: JSONValue = ["path": "a", "command": "git push"]
    #expect(ToolCall(tool: tool, input: input, directory: "/").categories == categories)
  }

  @Test func `a command in an unknown form is looked through as text`() {
    let call = ToolCall(tool: " Bash ", input: ["argv": ["git push", "x"]], directory: "/")
    #expect(call.categories == [.gitRemote])
  }

  @Test(arguments: ["git ", "git -C ", "git lfs ", "rm ", "npm ", "eval 'a b' ", "$(", "'\"", "a;", ">a "])
  func `a long command is read in one pass`(part: String) {
    let call = bash(String(repeating: part, count: 20_000) + "\ngit push")
    #expect(call.commandSpellings.count == 3 && !call.categories.isEmpty)
  }

  @Test func `quotes within quotes have an end`() {
    let deep = (0..<12).reduce("git push") { text, _ in
      "sh -c '" + text.replacing("'", with: "'\\''") + "'"
    }
    #expect(bash(deep).categories == [.gitRemote])
    #expect(bash(String(repeating: "$(", count: 5_000)).categories == [.shell])
    #expect(bash(String(repeating: "\"'`", count: 5_000)).categories == [.shell])
  }
}
