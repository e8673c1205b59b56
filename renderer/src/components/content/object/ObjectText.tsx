import type { ObjectText as Text } from '../../../../../shared/collection/derived.ts';
import { ApiProblem, urlOf } from '../../../api/client.ts';
import { useCall } from '../../../api/useCall.ts';
import { countOf, formatCount } from '../../../format/size.ts';
import { TimeText } from '../../data/TimeText.tsx';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { LazyTooltip } from '../../feedback/LazyTooltip.tsx';
import classes from './ObjectText.module.css';

/** How much text is shown; the JSON has all of it. */
const SHOWN_CHARACTERS = 100_000;
const SHOWN_LINKS = 200;

/** The extracted text of an archived object, as plain text. */
export function ObjectText({ sha256 }: { sha256: string }) {
  const { data, error, refetch } = useCall('readObjectText', { params: { sha256 } });
  if (error instanceof ApiProblem && error.document.code === 'not_derivable') {
    return <p className="muted small">{error.message}</p>;
  }
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) {
    return <output className="muted small">Extracting text…</output>;
  }
  return (
    <div className={classes.text}>
      {data.title && <p className={classes.title}>{data.title}</p>}
      <TextBox text={data.text} />
      {data.links.length > 0 && <Links links={data.links} />}
      <p className="muted small">
        {lengthOf(data)} Created by{' '}
        <LazyTooltip label={`Version ${data.derived.version}`} maxWidth={340}>
          {(trigger) => <span {...trigger}>{data.derived.tool}</span>}
        </LazyTooltip>{' '}
        <TimeText at={data.derived.made_at} />. This text is derived; the evidence is the object.{' '}
        <a href={urlOf('readObjectText', { params: { sha256 } })} target="_blank" rel="noopener noreferrer">
          View as JSON
        </a>
      </p>
    </div>
  );
}

/** The pages of a PDF are separated by form feeds, which are shown as a line. */
function TextBox({ text }: { text: string }) {
  if (text.trim() === '') return <p className="muted small">The object contains no text.</p>;
  const pages = text.slice(0, SHOWN_CHARACTERS).split('\f');
  return (
    // Long text scrolls in its own box, which must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className={classes.box} tabIndex={0} aria-label="Text of the object">
      {pages.map((page, index) => (
        // Pages are identified by their position.
        <div key={index}>
          {pages.length > 1 && <p className={classes.number}>Page {index + 1}</p>}
          <pre>{page}</pre>
        </div>
      ))}
    </section>
  );
}

/** The URLs that the object links to, as plain text. */
function Links({ links }: Pick<Text, 'links'>) {
  const shown = links.slice(0, SHOWN_LINKS);
  return (
    <details className={classes.links}>
      <summary>{countOf(links.length, 'link')}</summary>
      <ul>
        {shown.map(({ text, href }, index) => (
          // A page may contain the same link twice.
          <li key={index}>
            {text && <span>{text} </span>}
            <code className="wrap-anywhere">{href}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}

function lengthOf({ text, truncated, pages }: Text): string {
  const whole = [pages !== null && countOf(pages, 'page'), countOf(text.length, 'character')];
  const shown = text.length > SHOWN_CHARACTERS ? `, the first ${formatCount(SHOWN_CHARACTERS)} shown` : '';
  const cut = truncated ? ' The object was too large to extract completely.' : '';
  return `${whole.filter(Boolean).join(', ')}${shown}.${cut}`;
}
