import { Switch } from '@mantine/core';
import { useState } from 'react';
import type { AnyDiff, DiffSide, ImageParts } from '../../../../../shared/collection/diff.ts';
import { urlOf } from '../../../api/client.ts';
import { MAX_IMAGE_BYTES, previewKind } from '../../../components/content/preview/previewKind.ts';
import { formatBytes } from '../../../format/size.ts';
import { dimensions } from './diffSummary.ts';
import classes from './ImageDiff.module.css';

type Image = Extract<AnyDiff, { kind: 'image' }>;

/** Both versions side by side, with a box around all differences. */
export function ImageDiff({ diff }: { diff: Image }) {
  const { from, to, size, box } = diff;
  // The objects of an event are served by the collection, the files of packs by the archive.
  const route = 'event' in diff ? 'readObject' : 'readBlob';
  const [marks, setMarks] = useState(true);
  const shownBox = marks ? box : null;
  return (
    <div className={classes.images}>
      <div className={classes.pair}>
        <Side title="Before" side={from} size={size.from} box={shownBox} route={route} />
        <Side title="After" side={to} size={size.to} box={shownBox} route={route} />
      </div>
      {box && (
        <Switch
          size="xs"
          label={`Highlight differences: ${dimensions(box)} at ${box.x}, ${box.y}`}
          checked={marks}
          onChange={({ currentTarget }) => setMarks(currentTarget.checked)}
        />
      )}
    </div>
  );
}

interface SideProps {
  title: string;
  side: DiffSide;
  size: ImageParts['size']['from'];
  box: ImageParts['box'];
  route: 'readObject' | 'readBlob';
}

function Side(props: SideProps) {
  const { title, side, size } = props;
  return (
    <figure className={classes.side}>
      <Picture {...props} />
      <figcaption className="small muted">
        {title}: {dimensions(size)}, {formatBytes(side.bytes)}
      </figcaption>
    </figure>
  );
}

/** Only formats that a browser decodes to pixels are shown, so nothing can run. */
function Picture({ title, side, size, box, route }: SideProps) {
  const [isBroken, setIsBroken] = useState(false);
  if (isBroken || previewKind('', side.content_type ?? '') !== 'image') {
    return <p className={classes.none}>The image cannot be displayed. Download it below.</p>;
  }
  if (side.bytes > MAX_IMAGE_BYTES) {
    return <p className={classes.none}>The image is too large to display. Download it below.</p>;
  }
  return (
    <div className={classes.picture}>
      <img
        src={urlOf(route, { params: { sha256: side.sha256 } })}
        width={size.width}
        height={size.height}
        alt={`${title}, ${dimensions(size)}`}
        onError={() => setIsBroken(true)}
      />
      {box && <span className={classes.box} style={boxStyle(box, size)} aria-hidden />}
    </div>
  );
}

function boxStyle(box: NonNullable<ImageParts['box']>, { width, height }: SideProps['size']) {
  const share = (part: number, whole: number) => `${(part / whole) * 100}%`;
  return {
    left: share(box.x, width),
    top: share(box.y, height),
    width: share(box.width, width),
    height: share(box.height, height),
  };
}
