import { useState } from 'react';
import { urlOf } from '../../api/client.ts';
import { ticketed } from '../../api/ownerSession.ts';
import { IfReadable } from '../../components/content/Withheld.tsx';
import classes from './captures.module.css';

interface PagePictureProps {
  /** The id of a page capture, or of a drawing. */
  page: string;
  alt: string;
}

/** The address of a picture for an image. */
export function pictureUrl(page: string): string {
  return ticketed(picturePath(page));
}

/** The address of a picture for a link. */
export function picturePath(page: string): string {
  return urlOf('readPagePart', { params: { id: page, part: 'picture' } });
}

/** The picture of a whole page or, if the person may not see it, why. */
export function PagePicture(props: PagePictureProps) {
  return (
    <IfReadable of={[{ page: props.page }]}>
      <ReadablePicture {...props} />
    </IfReadable>
  );
}

/** The picture in a box of its own, which scrolls. */
function ReadablePicture({ page, alt }: PagePictureProps) {
  const [state, setState] = useState<'loading' | 'shown' | 'broken'>('loading');
  return (
    // The picture scrolls, so it must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className={`${classes.picture} scroll sunk`} aria-label={alt} tabIndex={0}>
      {state === 'loading' && <output className={`${classes.note} muted small`}>Loading the picture…</output>}
      {state === 'broken' ? (
        <p className={`${classes.note} muted`}>
          The picture cannot be shown: its bytes are missing, damaged, or in a copy that cannot be reached.
        </p>
      ) : (
        <img
          src={pictureUrl(page)}
          alt={alt}
          decoding="async"
          onLoad={() => setState('shown')}
          onError={() => setState('broken')}
        />
      )}
    </section>
  );
}
