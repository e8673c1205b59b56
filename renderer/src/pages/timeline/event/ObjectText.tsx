import type { ObjectText as Text } from '../../../../../shared/derived.ts';
import { ApiProblem, addressOf } from '../../../api/client.ts';
import { useCall } from '../../../api/useCall.ts';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { Hint } from '../../../components/feedback/Hint.tsx';
import { countOf, formatCount } from '../../../format/size.ts';
import classes from './ObjectText.module.css';

/** So much is drawn; the rest is in the JSON. */
const SHOWN_CHARACTERS = 100_000;
const SHOWN_LINKS = 200;

/** The readable text of an archived object, as plain text: nothing of a page runs or is fetched. */
export function ObjectText({ sha256 }: { sha256: string }) {
  const { data, error, refetch } = useCall('readObjectText', { params: { sha256 } });
  if (error instanceof ApiProblem && error.document.code === 'not_derivable') {
    return <p className="muted small">{error.message}</p>;
  }
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) {
    return <output className="muted small">Reading the object…</output>;
  }
  return (
    <div className={classes.text}>
      {data.title && <p className={classes.title}>{data.title}</p>}
      <TextBox text={data.text} />
      {data.links.length > 0 && <Links links={data.links} />}
      <p className="muted small">
        {lengthOf(data)} Made by{' '}
        <Hint label={`Version ${data.derived.version}`} maxWidth={340}>
          {(trigger) => <span {...trigger}>{data.derived.tool}</span>}
        </Hint>{' '}
        <TimeText at={data.derived.made_at} />. It is derived; the evidence is the object.{' '}
        <a
          href={addressOf('readObjectText', { params: { sha256 } })}
          target="_blank"
          rel="noopener noreferrer"
        >
          As JSON
        </a>
      </p>
    </div>
  );
}

/** Pages of a PDF are parted by form feeds, which are shown as a line. */
function TextBox({ text }: { text: string }) {
  if (text.trim() === '') return <p className="muted small">There is no text in it.</p>;
  const pages = text.slice(0, SHOWN_CHARACTERS).split('\f');
  return (
    // A long text is scrolled in a box of its own, which the keyboard must reach.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className={classes.box} tabIndex={0} aria-label="Text of the object">
      {pages.map((page, index) => (
        // Pages are told apart by their place alone.
        <div key={index} className={classes.page}>
          {pages.length > 1 && <p className={classes.number}>Page {index + 1}</p>}
          <pre>{page}</pre>
        </div>
      ))}
    </section>
  );
}

/** Where the object's links lead, as they stand in it; they are told, not offered. */
function Links({ links }: Pick<Text, 'links'>) {
  const shown = links.slice(0, SHOWN_LINKS);
  return (
    <details className={classes.links}>
      <summary>{countOf(links.length, 'link')}</summary>
      <ul>
        {shown.map(({ text, href }, index) => (
          // The same link may stand in a page twice.
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
  const cut = truncated ? ' The object holds more than could be read.' : '';
  return `${whole.filter(Boolean).join(', ')}${shown}.${cut}`;
}
