import { useElementSize } from '@mantine/hooks';
import { type CSSProperties, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import type { Region } from '../../../../shared/collection/page.ts';
import classes from './captures.module.css';
import { pictureUrl } from './PagePicture.tsx';

export type CompareView = 'sides' | 'slider';

interface ComparedPicturesProps {
  view: CompareView;
  /** The ids of the two captures. */
  before: string;
  after: string;
  /** What changed, in the pixels of the newer picture. */
  regions: readonly Region[];
  /** The change that is in view. */
  current: Region | undefined;
}

interface Size {
  width: number;
  height: number;
}

/** Two pictures of a page in one box that scrolls to the current change. */
export function ComparedPictures({ view, before, after, regions, current }: ComparedPicturesProps) {
  const [sizes, setSizes] = useState<{ before?: Size; after?: Size }>({});
  const box = useRef<HTMLElement>(null);
  const isShown = sizes.before !== undefined && sizes.after !== undefined;
  // The picture is drawn before it can be scrolled to a place in it.
  useEffect(() => {
    if (isShown && current) scrollTo(box.current, current, sizes.after);
  }, [view, isShown, current, sizes.after]);
  const measure = (side: 'before' | 'after') => (size: Size) =>
    setSizes((known) => ({ ...known, [side]: size }));
  const older = regions.map(inOlder);
  const pictures = { before, after, regions, current };
  return (
    <>
      {current && isShown && view === 'sides' && (
        <CloseUps before={before} after={after} region={current} sizes={sizes} />
      )}
      <section
        ref={box}
        className={`${classes.box} relative scroll sunk`}
        aria-label="Pictures of both captures"
        // The pictures scroll, so they must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {view === 'sides' ? (
          <div className={classes.sides}>
            <Side
              title="Before"
              page={before}
              regions={older}
              current={older[regions.findIndex((region) => region === current)]}
              size={sizes.before}
              onSize={measure('before')}
            />
            <Side
              title="After"
              page={after}
              regions={regions}
              current={current}
              size={sizes.after}
              onSize={measure('after')}
            />
          </div>
        ) : (
          <Slider {...pictures} size={sizes.after} onSize={measure} box={box} />
        )}
      </section>
    </>
  );
}

/** A region as the older picture has it: what was put in above it moves it down. */
function inOlder(region: Region): Region {
  return { ...region, y: region.y_before };
}

/** Leaves some room above a change, so that its surroundings can be seen. */
function scrollTo(box: HTMLElement | null, { y, height }: Region, size: Size | undefined): void {
  const picture = box?.querySelector<HTMLElement>('[data-side="After"]');
  if (!box || !picture || !size) return;
  const scale = picture.offsetHeight / size.height;
  const room = Math.max(24, (box.clientHeight - height * scale) / 3);
  box.scrollTo({ top: picture.offsetTop + y * scale - room });
}

/** What surrounds a change in its close-up, in pixels, and the highest part of a change that is shown. */
const AROUND = 28;
const CLOSE_HEIGHT = 260;

/** The scale below which text is hard to read. The close-ups are then below each other, where there is more room. */
const READABLE = 0.6;

interface CloseUpsProps {
  before: string;
  after: string;
  region: Region;
  sizes: { before?: Size; after?: Size };
}

/** A change in the size in which a person saw it. The whole pictures below are too small to read. */
function CloseUps({ before, after, region, sizes }: CloseUpsProps) {
  const width = READABLE * widthAround(region, sizes.after);
  return (
    <div
      className={classes.closeUps}
      style={{ gridTemplateColumns: `repeat(auto-fit, minmax(min(100%, ${width}px), 1fr))` }}
      aria-hidden
    >
      <CloseUp title="Before" page={before} region={inOlder(region)} size={sizes.before} />
      <CloseUp title="After" page={after} region={region} size={sizes.after} />
    </div>
  );
}

interface CloseUpProps {
  title: 'Before' | 'After';
  page: string;
  region: Region;
  size: Size | undefined;
}

function CloseUp({ title, page, region, size }: CloseUpProps) {
  const { ref, width: place } = useElementSize();
  if (!size) return null;
  const { x, y, width, height } = region;
  // The whole width of a change is shown, made smaller if its place is too narrow.
  const scale = Math.min(1, place / widthAround(region, size));
  const shown = Math.min(CLOSE_HEIGHT, height * scale + 2 * AROUND, size.height * scale);
  return (
    <figure>
      <figcaption className={classes.title}>{title}</figcaption>
      <div ref={ref} className={`${classes.closeUp} relative sunk`} style={{ height: shown }}>
        <div
          style={{
            left: within(place / 2 - (x + width / 2) * scale, place - size.width * scale),
            top: within(AROUND - y * scale, shown - size.height * scale),
            width: size.width * scale,
            height: size.height * scale,
          }}
        >
          <img src={pictureUrl(page)} alt="" />
          <span className={classes.region} data-current style={regionStyle(region, size, undefined)} />
        </div>
      </div>
    </figure>
  );
}

/** The width of a change and what surrounds it: never more than that of its picture. */
function widthAround({ width }: Region, size: Size | undefined): number {
  return Math.min(width + 2 * AROUND, size?.width ?? Number.POSITIVE_INFINITY);
}

/** Where a picture begins, so that its place shows nothing beyond its edges. A smaller picture begins with its place. */
function within(wanted: number, least: number): number {
  return Math.min(0, Math.max(least, wanted));
}

interface SideProps {
  title: 'Before' | 'After';
  page: string;
  regions: readonly Region[];
  current: Region | undefined;
  size: Size | undefined;
  onSize: (size: Size) => void;
}

/** One picture: what both share is pale, what changed is framed at full strength. */
function Side({ title, page, regions, current, size, onSize }: SideProps) {
  return (
    <figure className={`${classes.side} shrink sunk`}>
      <figcaption className={classes.title}>{title}</figcaption>
      <div className={classes.comparedPicture} data-side={title} data-quiet={regions.length > 0 || undefined}>
        <PictureOf page={page} alt={`The page ${title.toLowerCase()}`} onSize={onSize} />
        {size && <Regions regions={regions} current={current} size={size} picture={pictureUrl(page)} />}
      </div>
    </figure>
  );
}

interface PictureOfProps {
  page: string;
  alt: string;
  onSize: (size: Size) => void;
}

function PictureOf({ page, alt, onSize }: PictureOfProps) {
  const [isBroken, setIsBroken] = useState(false);
  if (isBroken) return <p className={`${classes.broken} muted`}>This picture cannot be shown.</p>;
  return (
    <img
      src={pictureUrl(page)}
      alt={alt}
      onLoad={({ currentTarget: { naturalWidth: width, naturalHeight: height } }) =>
        onSize({ width, height })
      }
      onError={() => setIsBroken(true)}
    />
  );
}

interface RegionsProps {
  regions: readonly Region[];
  current: Region | undefined;
  size: Size;
  /** Undefined if the picture below is shown at full strength itself. */
  picture?: string;
}

function Regions({ regions, current, size, picture }: RegionsProps) {
  return regions.map((region) => (
    <span
      key={`${region.x} ${region.y}`}
      className={classes.region}
      data-current={region === current || undefined}
      style={regionStyle(region, size, picture)}
      aria-hidden
    />
  ));
}

/** The place of a region in its picture, and the part of the picture that it shows. */
function regionStyle(
  { x, y, width, height }: Region,
  size: Size,
  picture: string | undefined,
): CSSProperties {
  const percent = (part: number, whole: number) => `${whole === 0 ? 0 : (part / whole) * 100}%`;
  return {
    left: percent(x, size.width),
    top: percent(y, size.height),
    width: percent(width, size.width),
    height: percent(height, size.height),
    ...(picture && {
      backgroundImage: `url("${picture}")`,
      backgroundSize: `${percent(size.width, width)} ${percent(size.height, height)}`,
      backgroundPosition: `${percent(x, size.width - width)} ${percent(y, size.height - height)}`,
    }),
  };
}

interface SliderProps extends Omit<ComparedPicturesProps, 'view'> {
  size: Size | undefined;
  onSize: (side: 'before' | 'after') => (size: Size) => void;
  box: { current: HTMLElement | null };
}

const KEY_SCROLL: Partial<Record<string, number>> = {
  ArrowUp: -80,
  ArrowDown: 80,
  PageUp: -400,
  PageDown: 400,
};

/** The older picture over the newer one, as far as the line that is moved by mouse, touch and arrow keys. */
function Slider({ before, after, regions, current, size, onSize, box }: SliderProps) {
  const [share, setShare] = useState(50);
  const [crossed, setCrossed] = useState<Region>();
  // The line begins in the middle of the change.
  if (size && current && current !== crossed) {
    setCrossed(current);
    setShare(((current.x + current.width / 2) / size.width) * 100);
  }
  // A slider takes these keys for itself; here they scroll, as everywhere.
  const scroll = (event: KeyboardEvent) => {
    const by = KEY_SCROLL[event.key];
    if (by === undefined) return;
    event.preventDefault();
    box.current?.scrollBy({ top: by });
  };
  return (
    <>
      <div className={classes.ends} aria-hidden>
        <span>Before</span>
        <span>After</span>
      </div>
      <div className={classes.comparedPicture} data-side="After">
        <PictureOf page={after} alt="The page after" onSize={onSize('after')} />
        <div className={classes.over} style={{ clipPath: `inset(0 ${100 - share}% 0 0)` }}>
          <PictureOf page={before} alt="The page before" onSize={onSize('before')} />
        </div>
        {size && <Regions regions={regions} current={current} size={size} />}
        <span className={classes.line} style={{ left: `${share}%` }} aria-hidden>
          <span className={classes.handle} />
        </span>
        <input
          type="range"
          className={classes.range}
          aria-label="How much of the older picture is shown"
          aria-valuetext={`${Math.round(share)} % before`}
          min={0}
          max={100}
          step={0.5}
          value={share}
          onChange={({ currentTarget }) => setShare(Number(currentTarget.value))}
          onKeyDown={scroll}
        />
      </div>
    </>
  );
}
