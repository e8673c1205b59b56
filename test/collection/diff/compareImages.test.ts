import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';
import { describe, expect, test } from 'vitest';
import { compareImages, UndecodableImageError } from '../../../server/collection/diff/compareBytes.ts';

/** A white picture with black pixels at these positions. */
function picture(width: number, height: number, ...black: [number, number][]): PNG {
  const image = new PNG({ width, height });
  image.data.fill(255);
  for (const [x, y] of black) image.data.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3);
  return image;
}

const png = (...picked: Parameters<typeof picture>) => PNG.sync.write(picture(...picked));

describe('comparing two images', () => {
  test('counts the pixels that differ and finds their rectangle', () => {
    const parts = compareImages(png(20, 10), png(20, 10, [3, 4], [7, 8]));
    expect(parts).toEqual({
      summary: { differing_pixels: 2, visible_pixels: expect.any(Number), share: 0.01 },
      size: { from: { width: 20, height: 10 }, to: { width: 20, height: 10 } },
      box: { x: 3, y: 4, width: 5, height: 5 },
    });
  });

  test('finds no difference between different encodings of the same pixels', () => {
    const slower = PNG.sync.write(picture(9, 9, [1, 1]), { deflateLevel: 0 });
    expect(compareImages(png(9, 9, [1, 1]), slower).summary).toEqual({
      differing_pixels: 0,
      visible_pixels: 0,
      share: 0,
    });
  });

  test('returns only the sizes if they differ', () => {
    const parts = compareImages(png(4, 4), png(5, 4));
    expect(parts.summary.differing_pixels).toBeNull();
    expect(parts.size.to).toEqual({ width: 5, height: 4 });
  });

  test('supports JPEG', () => {
    const photograph = (...black: [number, number][]) => jpeg.encode(picture(16, 16, ...black), 90).data;
    expect(compareImages(photograph(), photograph()).summary.differing_pixels).toBe(0);
    expect(compareImages(photograph(), photograph([8, 8])).summary.differing_pixels).toBeGreaterThan(0);
  });
});

describe('hostile images', () => {
  test('with 50,000 by 50,000 pixels in their headers are not decoded', () => {
    const huge = png(2, 2);
    huge.writeUInt32BE(50_000, 16);
    huge.writeUInt32BE(50_000, 20);
    const compare = () => compareImages(huge, Buffer.from(huge));
    expect(compare).toThrow(UndecodableImageError);
    expect(compare).toThrow('million pixels');
  });

  test('that are cut off or of another format are refused', () => {
    const intact = png(30, 30);
    expect(() => compareImages(intact, intact.subarray(0, 60))).toThrow(UndecodableImageError);
    expect(() => compareImages(Buffer.from('GIF89a…'), intact)).toThrow(UndecodableImageError);
  });
});
