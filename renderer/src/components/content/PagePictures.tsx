import { IconEyeOff, IconPhotoOff } from '@tabler/icons-react';
import { useState } from 'react';
import type { PictureRegion } from '../../../../shared/collection/noise.ts';
import { urlOf } from '../../api/client.ts';
import { ticketed } from '../../api/ownerSession.ts';
import { useHidden, useWithheldState } from '../../state/withheld.ts';
import classes from './content.module.css';

interface PageThumbnailProps {
  /** The id of the page capture. */
  page: string;
  /** Empty if the words beside it say the same. */
  alt: string;
  /** In a row of a list, or in a card. */
  size: 'row' | 'card';
}

/** The upper part of a page's picture, small. It is loaded when it comes into view, and nothing waits for it. */
export function PageThumbnail({ page, alt, size }: PageThumbnailProps) {
  const [isBroken, setIsBroken] = useState(false);
  const hidden = useHidden({ page });
  const isMarked = (useWithheldState({ page })?.withheld.length ?? 0) > 0;
  return (
    <span className={`${classes.thumbnail} relative sunk muted`} data-size={size}>
      {hidden !== null ? (
        hidden && (
          <span className={`${classes.hidden} tiny`}>
            <IconEyeOff size={18} aria-hidden />
            <span className={size === 'row' ? 'visually-hidden' : undefined}>
              {hidden.kind === 'released' ? 'Given up' : 'Not shown to visitors'}
            </span>
          </span>
        )
      ) : isBroken ? (
        <>
          <IconPhotoOff size={18} aria-hidden />
          <span className="visually-hidden">{alt}: not available</span>
        </>
      ) : (
        <img
          src={ticketed(urlOf('readPagePart', { params: { id: page, part: 'thumbnail' } }))}
          alt={alt}
          width={400}
          height={250}
          loading="lazy"
          decoding="async"
          onError={() => setIsBroken(true)}
        />
      )}
      {hidden === null && isMarked && (
        <span className={classes.withheldMark} title="Not shown to visitors">
          <IconEyeOff size={15} aria-hidden />
          <span className="visually-hidden">Not shown to visitors</span>
        </span>
      )}
    </span>
  );
}

interface PictureCutProps {
  src: string;
  region: PictureRegion;
  alt: string;
  onError?: () => void;
}

/** One region of a picture, not larger than it is. */
export function PictureCut({ src, region: { x, y, width, height }, alt, onError }: PictureCutProps) {
  return (
    <svg
      className={classes.cut}
      viewBox={`${x} ${y} ${width} ${height}`}
      width={width}
      height={height}
      // An `img` cannot show a part of a picture without knowing its size.
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role
      role="img"
      aria-label={alt}
    >
      <image href={src} onError={onError} />
    </svg>
  );
}
