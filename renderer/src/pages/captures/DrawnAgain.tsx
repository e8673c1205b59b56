import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { ArchivedDraw, PageCapture } from '../../../../shared/collection/page.ts';
import classes from './captures.module.css';
import { MissingRequests } from './FetchMissing.tsx';
import { PagePicture } from './PagePicture.tsx';
import { answersOf, isMissing } from './pageWords.ts';

interface DrawnAgainProps {
  draw: ArchivedDraw;
  /** The page capture that was drawn again. */
  capture: PageCapture;
  onFetched: () => void;
}

/** A capture beside what the archive alone gave just now, and what that shows. */
export function DrawnAgain({ draw, capture, onFetched }: DrawnAgainProps) {
  // What the capture itself got no answer to is not missing.
  const unanswered = new Set(capture.requests.filter(({ reason }) => reason !== null).map(({ url }) => url));
  const missing = draw.requests.filter((request) => isMissing(request) && !unanswered.has(request.url));
  return (
    <section className={classes.again} aria-label="Drawn again from the archive">
      <h2>Drawn again from the archive</h2>
      <Verdict draw={draw} />
      <div className={classes.pair}>
        <figure>
          <figcaption className="small muted">Captured</figcaption>
          <PagePicture page={capture.id} alt="The page when it was captured" />
        </figure>
        <figure>
          <figcaption className="small muted">
            Drawn now, <Link to={`/draws/${draw.id}?tab=requests`}>from {answersOf(draw.requests)}</Link>
          </figcaption>
          <PagePicture page={draw.id} alt="The page as it was drawn now" />
        </figure>
      </div>
      <MissingRequests requests={missing} onFetched={onFetched} />
    </section>
  );
}

function Verdict({ draw }: Pick<DrawnAgainProps, 'draw'>) {
  const { same_picture, same_text, differences } = draw;
  const isSame = same_picture === true && same_text === true;
  const Icon = isSame ? IconCircleCheck : IconAlertTriangle;
  return (
    <output className={classes.verdict} data-same={isSame || undefined}>
      <Icon size={20} aria-hidden />
      <div className="stack gap-1">
        <p>
          <strong>
            {same_picture ? 'Same picture' : 'Different picture'},{' '}
            {same_text ? 'same text' : 'different text'}.
          </strong>{' '}
          {isSame
            ? 'This proves that the picture can be reproduced from the archived bytes alone. Nothing was fetched.'
            : 'It was drawn from the archived bytes alone. Nothing was fetched.'}
        </p>
        {differences.length > 0 && (
          <ul className={`${classes.differences} small`}>
            {differences.map((sentence) => (
              <li key={sentence} className="wrap-anywhere">
                {sentence}
              </li>
            ))}
          </ul>
        )}
      </div>
    </output>
  );
}
