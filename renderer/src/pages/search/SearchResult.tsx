import { Link } from 'react-router';
import type { FoundText } from '../../../../shared/collection/derived.ts';
import { ObjectDigest } from '../../components/content/object/ObjectDigest.tsx';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { countOf } from '../../format/size.ts';
import { captureTime, viewPath } from '../../format/viewPath.ts';
import classes from './SearchPage.module.css';
import { SnippetText } from './SnippetText.tsx';

/** One source or file that matches, with a snippet. */
export function SearchResult({ item, q }: { item: FoundText; q: string }) {
  const { source, pack, title, snippet } = item;
  const name = source ? source.name || source.url : (pack?.path ?? '');
  return (
    <article className={classes.result} aria-label={name}>
      <h2>
        <Link to={source ? `/sources/${source.id}` : `/packs/${pack?.id}`}>{name}</Link>
      </h2>
      <p className={classes.about}>
        {title && title !== name && <span>{title}</span>}
        {source?.agency && <span>{source.agency}</span>}
        {source?.name && <span className="wrap-anywhere">{source.url}</span>}
        {pack && (
          <span>
            in the pack <Link to={`/packs/${pack.id}`}>{pack.title}</Link>
          </span>
        )}
      </p>
      <p className={classes.snippet}>
        <SnippetText snippet={snippet} />
      </p>
      {source ? <VersionLine item={item} source={source.id} q={q} /> : <FileLine item={item} />}
    </article>
  );
}

/** Which version matches, when and by whom it was observed, and in how many others the words are too. */
function VersionLine({ item, source, q }: { item: FoundText; source: string; q: string }) {
  const { sha256, is_current, observed_at, observer, original_observed_at, other_versions } = item;
  return (
    <p className={classes.version}>
      <strong>{is_current ? 'Current version' : 'Replaced version'}</strong>
      <ObjectDigest sha256={sha256} label="digest of this version" />
      <span>
        retrieved <TimeText at={observed_at} />
      </span>
      {original_observed_at && (
        <span>
          captured by {observer} <TimeText at={original_observed_at} />
        </span>
      )}
      {other_versions > 0 && (
        <Link to={`/search?${new URLSearchParams({ q, source }).toString()}`}>
          also in {countOf(other_versions, is_current ? 'earlier version' : 'other version')}
        </Link>
      )}
      <Link to={viewPath({ sha256, source, at: captureTime({ observed_at, original_observed_at }) })}>
        View
      </Link>
      <Link to={`/timeline?source=${source}&q=${sha256}`}>Show on timeline</Link>
    </p>
  );
}

function FileLine({ item: { sha256, observed_at, pack } }: { item: FoundText }) {
  return (
    <p className={classes.version}>
      <strong>File of a pack</strong>
      <DigestChip digest={sha256} label="digest of the file" />
      <span>
        received <TimeText at={observed_at} />
      </span>
      {pack && pack.others > 0 && <span>also at {countOf(pack.others, 'other place')} in packs</span>}
    </p>
  );
}
