import { Button, Modal, NumberInput } from '@mantine/core';
import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react';
import {
  MAX_PICTURE_HEIGHT,
  MAX_PICTURE_WIDTH,
  type PictureRegion,
} from '../../../../../shared/collection/noise.ts';
import { pictureUrl } from '../../captures/PagePicture.tsx';
import classes from '../sources.module.css';

interface RegionChooserProps {
  /** The page capture whose picture is shown. */
  page: string;
  region: PictureRegion | undefined;
  onChoose: (region: PictureRegion) => void;
  onClose: () => void;
}

interface Point {
  x: number;
  y: number;
}

interface Size {
  width: number;
  height: number;
}

/** A click without dragging makes a region of this size. */
const CLICKED: Size = { width: 300, height: 150 };
const MIN_DRAG = 4;

/** Chooses the region that is watched, by dragging a rectangle in the picture of the page. */
export function RegionChooser({ page, region: given, onChoose, onClose }: RegionChooserProps) {
  const [size, setSize] = useState<Size>();
  const [isBroken, setIsBroken] = useState(false);
  const [region, setRegion] = useState(given);
  const isEmpty = !region || region.width === 0 || region.height === 0;
  const fits =
    region !== undefined &&
    size !== undefined &&
    region.x + region.width <= size.width &&
    region.y + region.height <= size.height;
  return (
    <Modal
      opened
      onClose={onClose}
      title="Choose a region of the picture"
      fullScreen
      classNames={{ content: classes.window, body: classes.body }}
    >
      <div className={classes.chooser}>
        <p className="small muted">
          Drag a rectangle over what matters. Drag it to move it. By keyboard: the fields, or the rectangle
          itself with the arrow keys, which move it; with Shift they change its size. Only changes of these
          pixels count. The rectangle stays where it is when the page around it moves.
        </p>
        <RegionFields
          values={region ?? { x: '', y: '', width: '', height: '' }}
          max={size ?? { width: MAX_PICTURE_WIDTH, height: MAX_PICTURE_HEIGHT }}
          onChange={(change) =>
            setRegion({ ...(region ?? { x: 0, y: 0, ...CLICKED }), ...numbersOf(change) })
          }
        />
        {isBroken && <p>The picture cannot be shown: its bytes are missing, damaged, or out of reach.</p>}
        <div className={`${classes.picture} relative fill scroll sunk`} data-broken={isBroken || undefined}>
          <Sheet size={size} region={region} onChange={setRegion}>
            <img
              src={pictureUrl(page)}
              alt="The page as it was drawn last"
              draggable={false}
              onLoad={({ currentTarget: { naturalWidth: width, naturalHeight: height } }) =>
                setSize({ width, height })
              }
              onError={() => setIsBroken(true)}
            />
          </Sheet>
        </div>
        <div className="cluster gap-2 end">
          <output className="small muted grow">
            {region && size && !fits && 'The picture does not reach all of this region.'}
          </output>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button disabled={!fits || isEmpty} onClick={() => region && onChoose(region)}>
            Use this region
          </Button>
        </div>
      </div>
    </Modal>
  );
}

function numbersOf(change: Partial<Record<keyof PictureRegion, string>>): Partial<PictureRegion> {
  return Object.fromEntries(
    Object.entries(change).map(([name, value]) => [name, Math.max(0, Math.round(Number(value) || 0))]),
  );
}

interface Drag {
  from: Point;
  /** The region that is moved; undefined if a new one is drawn. */
  moved: PictureRegion | undefined;
}

interface SheetProps {
  size: Size | undefined;
  region: PictureRegion | undefined;
  onChange: (region: PictureRegion) => void;
  children: React.ReactNode;
}

/** The picture with the rectangle, which are dragged in pixels of the picture. */
function Sheet({ size, region, onChange, children }: SheetProps) {
  const sheet = useRef<HTMLDivElement>(null);
  const drag = useRef<Drag>(undefined);
  const pointOf = ({ clientX, clientY }: PointerEvent): Point => {
    const box = sheet.current?.getBoundingClientRect();
    if (!box || !size || box.width === 0) return { x: 0, y: 0 };
    const scale = size.width / box.width;
    return {
      x: within(Math.round((clientX - box.left) * scale), size.width),
      y: within(Math.round((clientY - box.top) * scale), size.height),
    };
  };
  const start = (event: PointerEvent) => {
    // Fingers scroll the picture; they move the rectangle, and place it by tapping.
    if (!size || event.button !== 0) return;
    const isMove = event.target instanceof Element && event.target.closest('button') !== null;
    if (event.pointerType !== 'touch' || isMove) sheet.current?.setPointerCapture(event.pointerId);
    drag.current = { from: pointOf(event), moved: isMove ? region : undefined };
  };
  const goOn = (event: PointerEvent) => {
    const { from, moved } = drag.current ?? {};
    if (!from || !size) return;
    const to = pointOf(event);
    if (moved) onChange(movedBy(moved, { x: to.x - from.x, y: to.y - from.y }, size));
    else if (event.pointerType !== 'touch' && Math.hypot(to.x - from.x, to.y - from.y) >= MIN_DRAG)
      onChange(between(from, to));
  };
  const end = (event: PointerEvent) => {
    const { from, moved } = drag.current ?? {};
    drag.current = undefined;
    if (!from || !size || moved) return;
    const to = pointOf(event);
    if (Math.hypot(to.x - from.x, to.y - from.y) < MIN_DRAG) onChange(around(to, size));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = STEPS[event.key];
    if (!by || !region || !size || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onChange(event.shiftKey ? resizedBy(region, by, size) : movedBy(region, by, size));
  };
  return (
    // The rectangle in it is reached by keyboard, and so are the fields.
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      ref={sheet}
      className={classes.sheet}
      onPointerDown={start}
      onPointerMove={goOn}
      onPointerUp={end}
      onPointerCancel={() => {
        drag.current = undefined;
      }}
    >
      {children}
      {region && size && (
        <button
          type="button"
          className={classes.region}
          style={boxOf(region, size)}
          aria-label={`Region: ${region.width} × ${region.height} at ${region.x}, ${region.y}`}
          onKeyDown={onKeyDown}
        />
      )}
    </div>
  );
}

const STEP = 10;
const STEPS: Readonly<Record<string, Point>> = {
  ArrowLeft: { x: -STEP, y: 0 },
  ArrowRight: { x: STEP, y: 0 },
  ArrowUp: { x: 0, y: -STEP },
  ArrowDown: { x: 0, y: STEP },
};

function within(value: number, most: number, least = 0): number {
  return Math.min(most, Math.max(least, value));
}

function movedBy(region: PictureRegion, by: Point, size: Size): PictureRegion {
  return {
    ...region,
    x: within(region.x + by.x, Math.max(0, size.width - region.width)),
    y: within(region.y + by.y, Math.max(0, size.height - region.height)),
  };
}

function resizedBy(region: PictureRegion, by: Point, size: Size): PictureRegion {
  return {
    ...region,
    width: within(region.width + by.x, size.width - region.x, 1),
    height: within(region.height + by.y, size.height - region.y, 1),
  };
}

function between(from: Point, to: Point): PictureRegion {
  return {
    x: Math.min(from.x, to.x),
    y: Math.min(from.y, to.y),
    width: Math.max(1, Math.abs(to.x - from.x)),
    height: Math.max(1, Math.abs(to.y - from.y)),
  };
}

function around({ x, y }: Point, size: Size): PictureRegion {
  const width = Math.min(CLICKED.width, size.width);
  const height = Math.min(CLICKED.height, size.height);
  return movedBy(
    { x: x - Math.round(width / 2), y: y - Math.round(height / 2), width, height },
    { x: 0, y: 0 },
    size,
  );
}

function boxOf({ x, y, width, height }: PictureRegion, size: Size) {
  const share = (part: number, whole: number) => `${(part / whole) * 100}%`;
  return {
    left: share(x, size.width),
    top: share(y, size.height),
    width: share(width, size.width),
    height: share(height, size.height),
  };
}

export type RegionText = Record<keyof PictureRegion, string>;

interface RegionFieldsProps {
  values: Readonly<Record<keyof PictureRegion, string | number>>;
  /** The size of the picture. */
  max?: { width: number; height: number };
  error?: string | undefined;
  onChange: (change: Partial<RegionText>) => void;
}

const LABELS: Readonly<Record<keyof PictureRegion, string>> = {
  x: 'From the left',
  y: 'From the top',
  width: 'Width',
  height: 'Height',
};

/** The numbers of a region, in pixels of the picture. */
export function RegionFields({
  values,
  max = { width: MAX_PICTURE_WIDTH, height: MAX_PICTURE_HEIGHT },
  error,
  onChange,
}: RegionFieldsProps) {
  return (
    <div>
      <div className={classes.fields}>
        {(['x', 'y', 'width', 'height'] as const).map((name) => (
          <NumberInput
            key={name}
            label={LABELS[name]}
            size="xs"
            suffix=" px"
            min={name === 'x' || name === 'y' ? 0 : 1}
            max={name === 'x' || name === 'width' ? max.width : max.height}
            clampBehavior="none"
            allowDecimal={false}
            allowNegative={false}
            value={values[name]}
            error={error !== undefined}
            onChange={(value) => onChange({ [name]: String(value) })}
          />
        ))}
      </div>
      {error && <p className="small bad mt-1">{error}</p>}
    </div>
  );
}
