import { createHash } from 'node:crypto';
import { PNG } from 'pngjs';
import { expect, test } from 'vitest';
import type { ObjectToRead } from '../../../server/collection/derived/process/tasks.ts';
import { readWatchedRegion } from '../../../server/collection/diff/compareBytes.ts';
import { comparePictures, makeThumbnail } from '../../../server/collection/pages/pictures.ts';

type Colour = readonly [red: number, green: number, blue: number];

function paint(width: number, height: number, colourAt: (x: number, y: number) => Colour): PNG {
  const picture = new PNG({ width, height });
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) picture.data.set([...colourAt(x, y), 255], (y * width + x) * 4);
  return picture;
}

function objectOf(bytes: Buffer): ObjectToRead {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { sha256, file: '', bytes, contentType: 'image/png', contentEncoding: null };
}

/** Neighbouring pixels differ, so that a filter that is undone wrongly shows. */
function pattern(x: number, y: number): Colour {
  return [(x * 7 + y * 3) % 256, (x * x + y) % 256, (y * 11) % 256];
}

test.each([0, 1, 2, 3, 4])(
  'a thumbnail is the mean of the upper part, whatever the filter: %i',
  async (filterType) => {
    const picture = paint(800, 1200, pattern);
    for (const colorType of [2, 6] as const) {
      const file = PNG.sync.write(picture, { filterType, colorType });
      const { png } = await makeThumbnail(objectOf(file));
      const thumbnail = PNG.sync.read(Buffer.from(png));
      expect([thumbnail.width, thumbnail.height]).toEqual([400, 250]);
      for (const [x, y] of [
        [0, 0],
        [13, 57],
        [399, 249],
      ] as const) {
        const around = [
          pattern(2 * x, 2 * y),
          pattern(2 * x + 1, 2 * y),
          pattern(2 * x, 2 * y + 1),
          pattern(2 * x + 1, 2 * y + 1),
        ];
        const mean = [0, 1, 2].map((channel) =>
          Math.round(around.reduce((sum, colour) => sum + (colour[channel] ?? 0), 0) / 4),
        );
        expect([...thumbnail.data.subarray((y * 400 + x) * 4, (y * 400 + x) * 4 + 3)]).toEqual(mean);
      }
    }
  },
);

test('a short or narrow picture has a short or narrow thumbnail', async () => {
  const sizes = [
    [800, 100, 400, 50],
    [300, 900, 300, 250],
    [1, 1, 1, 1],
  ] as const;
  for (const [width, height, ...expected] of sizes) {
    const file = PNG.sync.write(paint(width, height, pattern));
    const thumbnail = PNG.sync.read(Buffer.from((await makeThumbnail(objectOf(file))).png));
    expect([thumbnail.width, thumbnail.height]).toEqual(expected);
  }
});

test('what is no picture, is cut off or claims to be huge has no thumbnail', async () => {
  const file = PNG.sync.write(paint(800, 800, pattern));
  const huge = Buffer.from(file);
  huge.writeUInt32BE(1_000_000, 16);
  for (const bytes of [Buffer.from('no picture'), file.subarray(0, 2000), huge])
    await expect(makeThumbnail(objectOf(bytes))).rejects.toThrow(/^The picture/);
});

test('a change below an inserted banner is found where each picture has it', () => {
  const rows = (y: number): Colour => [y % 256, Math.floor(y / 256), 77];
  const before = paint(160, 400, (_x, y) => rows(y));
  const after = paint(160, 432, (x, y) => {
    if (y >= 96 && y < 128) return [1, 2, 3];
    const was = y < 96 ? y : y - 32;
    return was >= 304 && was < 312 && x >= 32 && x < 48 ? [255, 255, 255] : rows(was);
  });
  const { regions } = comparePictures(objectOf(PNG.sync.write(before)), objectOf(PNG.sync.write(after)));
  expect(regions).toEqual([
    { x: 0, y: 96, width: 160, height: 32, y_before: 96 },
    { x: 32, y: 336, width: 16, height: 8, y_before: 304 },
  ]);
});

test.each<[string, (x: number, y: number) => Colour, isOutside: boolean]>([
  ['the same pixels', pattern, true],
  [
    'a shade that nobody sees',
    (x, y) => (x === 20 && y === 30 ? shifted(pattern(x, y), 1) : pattern(x, y)),
    true,
  ],
  [
    'a pixel in the last row and column',
    (x, y) => (x === 29 && y === 49 ? [255, 0, 0] : pattern(x, y)),
    false,
  ],
  [
    'pixels around it only',
    (x, y) => (x === 30 || y === 50 || x === 9 || y === 19 ? [255, 0, 0] : pattern(x, y)),
    true,
  ],
])('of a watched region, %s are compared', async (_name, colourAt, isOutside) => {
  const scope = { watch: { region: { x: 10, y: 20, width: 20, height: 30 } }, rules: [] };
  for (const filterType of [0, 1, 2, 3, 4]) {
    const from = objectOf(PNG.sync.write(paint(60, 80, pattern), { filterType, colorType: 2 }));
    const to = objectOf(PNG.sync.write(paint(70, 70, colourAt), { filterType, colorType: 6 }));
    const found = await readWatchedRegion({ from, to }, scope);
    expect(found?.findings).toMatchObject({ outside: isOutside, watch: { found: { from: 1, to: 1 } } });
  }
});

test('a region that only one picture reaches is a change, and one that none reaches is not watched', async () => {
  const small = objectOf(PNG.sync.write(paint(40, 40, pattern)));
  const large = objectOf(PNG.sync.write(paint(40, 90, pattern)));
  const findings = async (y: number) => {
    const scope = { watch: { region: { x: 0, y, width: 40, height: 20 } }, rules: [] };
    return (await readWatchedRegion({ from: large, to: small }, scope))?.findings;
  };
  expect(await findings(20)).toMatchObject({ outside: true, watch: { found: { from: 1, to: 1 } } });
  expect(await findings(21)).toMatchObject({
    outside: false,
    is_noise: false,
    watch: { found: { from: 1, to: 0 } },
  });
  expect(await findings(71)).toMatchObject({
    outside: false,
    is_noise: false,
    watch: { found: { from: 0, to: 0 } },
  });
});

function shifted([red, green, blue]: Colour, by: number): Colour {
  return [red, green, blue < 128 ? blue + by : blue - by];
}
