# pi-relay. `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PREFIX ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)
SWIFT_BUILD := swift build -c release
PROGRAMS = $(shell $(SWIFT_BUILD) --show-bin-path)

.PHONY: help setup build run demo test bench drill fuzz lint format install uninstall

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing
	@scripts/setup

build: setup ## build everything, optimised
	@$(SWIFT_BUILD)

# Build messages go to standard error, so that `echo hello | make run` prints the answer alone.
run: setup ## set up, build, and open the chat
	@$(SWIFT_BUILD) >&2
	@$(PROGRAMS)/pi-relayd chat --stop-daemon

demo: setup ## a tour that kills things and checks itself
	@$(SWIFT_BUILD) >&2
	@scripts/demo

test: setup ## set up and run every test
	@scripts/setup-peers
	-@scripts/setup microsocks ngircd node-typescript openssl tinyproxy
	swift build --build-tests
	swift test --skip-build
	scripts/check-examples
	scripts/test-extension
	scripts/bench --quick --programs "$$(swift build --show-bin-path)"

bench: setup ## measure, against peers in the same run; writes .build/bench.json
	@$(SWIFT_BUILD) >&2
	@scripts/bench

drill: setup ## break everything everywhere and count what is lost; about an hour
	@$(SWIFT_BUILD) >&2
	@$(PROGRAMS)/pi-relay-drill kill
	@$(PROGRAMS)/pi-relay-drill model
	@$(PROGRAMS)/pi-relay-drill soak
	@scripts/setup-peers && $(PROGRAMS)/pi-relay-drill discord
	swift build --build-tests
	swift test --skip-build --filter 'PowerLossTests|StorageFaultTests|ReplacementTests|SalvageTests'
	-@scripts/setup runit supervisor
	@scripts/compare-supervisors

fuzz: setup ## fuzz framer, scanner, YAML reader and gateway, a minute each
	@scripts/fuzz

lint: ## check formatting
	swift format lint --strict -r --parallel Sources Tests Benchmarks Fuzz Package.swift

format: ## apply formatting
	swift format -ipr Sources Tests Benchmarks Fuzz Package.swift

install: build ## install under PREFIX (root: /usr/local, others: ~/.local)
	install -d $(PREFIX)/bin $(PREFIX)/libexec/pi-relay
	install -m 755 $(PROGRAMS)/pi-relayd $(PROGRAMS)/pi-bridge $(PREFIX)/bin/
	install -m 755 $(PROGRAMS)/pi-relay-{guardian,demo-agent,formatter,attachments,discord,irc,slack,toml} $(PREFIX)/libexec/pi-relay/
	install -d $(PREFIX)/libexec/pi-relay/extension/lib
	install -m 644 extension/{package.json,index.js} $(PREFIX)/libexec/pi-relay/extension/
	install -m 644 extension/lib/*.js $(PREFIX)/libexec/pi-relay/extension/lib/
	install -D -m 644 -t $(PREFIX)/libexec/pi-relay/extension/skills/relay extension/skills/relay/SKILL.md
	install -d $(PREFIX)/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
	for program in pi-relayd pi-bridge; do \
	  $(PROGRAMS)/$$program --generate-completion-script bash > $(PREFIX)/share/bash-completion/completions/$$program && \
	  $(PROGRAMS)/$$program --generate-completion-script zsh > $(PREFIX)/share/zsh/site-functions/_$$program && \
	  $(PROGRAMS)/$$program --generate-completion-script fish > $(PREFIX)/share/fish/vendor_completions.d/$$program.fish || exit; \
	done
	@# The folder of programs for the agents of this user.
	@if [ -d ~/.pi/agent ]; then install -d ~/.pi/agent/bin && ln -sf $(PREFIX)/bin/pi-bridge ~/.pi/agent/bin/pi-bridge; fi
	@echo "Installed. Next: $(PREFIX)/bin/pi-relayd chat"

uninstall: ## remove what install put there
	rm -f $(PREFIX)/bin/pi-relayd $(PREFIX)/bin/pi-bridge
	rm -rf $(PREFIX)/libexec/pi-relay
	rm -f $(PREFIX)/share/bash-completion/completions/pi-{relayd,bridge} $(PREFIX)/share/zsh/site-functions/_pi-{relayd,bridge}
	rm -f $(PREFIX)/share/fish/vendor_completions.d/pi-{relayd,bridge}.fish
	@if [ "$$(readlink ~/.pi/agent/bin/pi-bridge)" = $(PREFIX)/bin/pi-bridge ]; then rm ~/.pi/agent/bin/pi-bridge; fi
