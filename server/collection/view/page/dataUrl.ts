/** Types that a browser decodes and does not run. */
const PASSIVE =
  /^(image\/[a-z0-9.+-]+|font\/[a-z0-9.+-]+|audio\/[a-z0-9.+-]+|video\/[a-z0-9.+-]+|application\/(x-)?font-[a-z0-9.+-]+|application\/vnd\.ms-fontobject)$/;

/** Returns bytes as a `data:` URL. A type that could run something is replaced; a browser detects images by their bytes. */
export function dataUrl(bytes: Uint8Array, contentType: string | null): string {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return `data:${PASSIVE.test(type) ? type : 'application/octet-stream'};base64,${base64}`;
}
