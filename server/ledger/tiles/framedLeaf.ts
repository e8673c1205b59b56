/** A leaf in a tile of entries: after its length in two bytes, highest first. The largest entry is below 1,000 bytes. */
export function framedLeaf(leaf: string): Buffer {
  const bytes = Buffer.from(`\0\0${leaf}`);
  bytes.writeUInt16BE(bytes.length - 2);
  return bytes;
}
