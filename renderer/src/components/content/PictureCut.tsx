import type { PictureRegion } from '../../../../shared/collection/noise.ts';
import classes from './content.module.css';

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
