import { readFile, stat } from "node:fs/promises";

const maximumBytes = 10 << 20;

/**
 * pi's images of those in a command. A line of the protocol is too short for most images, so the daemon names a file in place of
 * the data: `{"type": "image", "mimeType": …, "path": …}`.
 * @param {any} images
 * @returns {Promise<ImageContent[]>}
 */
export async function loadImages(images) {
  if (!Array.isArray(images)) return [];
  return Promise.all(images.map(loadImage));
}

/** @param {any} image @returns {Promise<ImageContent>} */
async function loadImage(image) {
  const mimeType = String(image?.mimeType ?? "");
  if (typeof image?.data === "string") return { type: "image", data: image.data, mimeType };
  const path = String(image?.path ?? "");
  const { size } = await stat(path);
  if (size > maximumBytes) throw new Error(`the image ${path} is larger than 10 MiB`);
  return { type: "image", data: (await readFile(path)).toString("base64"), mimeType };
}
