/** The header of an image, read without decoding the image. */
export interface ImageHeader {
  format: 'png' | 'jpeg';
  width: number;
  height: number;
}

/** Reads the header of a PNG (specification, 11.2.1) or a JPEG (ITU T.81, B.2.2); undefined for other formats. */
export function imageHeader(bytes: Uint8Array): ImageHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return pngHeader(view) ?? jpegHeader(view);
}

const PNG_SIGNATURE = 0x8950_4e47_0d0a_1a0an;
const IHDR = 0x4948_4452;

function pngHeader(view: DataView): ImageHeader | undefined {
  if (view.byteLength < 24 || view.getBigUint64(0) !== PNG_SIGNATURE || view.getUint32(12) !== IHDR)
    return undefined;
  return headerOf('png', view.getUint32(16), view.getUint32(20));
}

function jpegHeader(view: DataView): ImageHeader | undefined {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return undefined;
  let at = 2;
  while (at + 9 < view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    // Fill bytes may precede a marker; a few markers have no segment.
    if (marker === 0xff) at += 1;
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2;
    else if (isFrame(marker)) return headerOf('jpeg', view.getUint16(at + 7), view.getUint16(at + 5));
    else at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}

/** SOF0 to SOF15; DHT, JPG and DAC lie between them. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function headerOf(format: ImageHeader['format'], width: number, height: number): ImageHeader | undefined {
  return width > 0 && height > 0 ? { format, width, height } : undefined;
}
