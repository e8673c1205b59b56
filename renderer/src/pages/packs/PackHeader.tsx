import { Link } from 'react-router';
import type { DriftItem } from '../../../../shared/archive/drift.ts';
import type { Pack } from '../../../../shared/archive/pack.ts';
import { useCall } from '../../api/useCall.ts';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { countOf, formatBytes } from '../../format.ts';
import classes from './packs.module.css';

/** The ORCID iD is shown as a link without ORCID's icon. */
function orcidAddress(orcid: string): string {
  return `https://orcid.org/${orcid}`;
}

export function PackAuthors({ authors }: { authors: Pack['authors'] }) {
  return (
    <ul className="plain cluster gap-5 stretch">
      {authors.map((author) => (
        <li key={`${author.name} ${author.orcid}`} className="cluster gap-2 baseline">
          <span className="medium">{author.name}</span>
          {author.orcid && (
            <a
              className="small mono"
              href={orcidAddress(author.orcid)}
              target="_blank"
              rel="noopener noreferrer"
              aria-label={`ORCID iD of ${author.name}: ${author.orcid}`}
            >
              {author.orcid}
            </a>
          )}
          {author.affiliation && <span className="muted small">{author.affiliation}</span>}
        </li>
      ))}
    </ul>
  );
}

export function PackBadges({ pack }: { pack: Pack }) {
  return (
    <div className="cluster gap-2 stretch">
      <SetMark evidence={pack.evidence} />
      <VersionMark evidence={pack.evidence} />
      <StateBadge kind="outcome" value={pack.outcome} look="boxed" />
      <StateBadge kind="tag" value={pack.tag} look="boxed" />
      {pack.evidence.superseded_by && <StateBadge kind="mark" value="superseded" look="boxed" />}
      {pack.flags.length > 0 && (
        <StateBadge kind="mark" value="flagged" look="boxed" count={pack.flags.length} />
      )}
    </div>
  );
}

/** `Set of 1,200 files, 3.1 GB`, for the manifest of a set. */
export function SetMark({ evidence: { set } }: Pick<Pack, 'evidence'>) {
  if (!set) return null;
  return (
    <span className="small medium nowrap">
      Set of {countOf(set.files, 'file')}, {formatBytes(set.bytes)}
    </span>
  );
}

/** `Version 2`, for a pack that has an earlier or a later version. */
export function VersionMark({ evidence }: Pick<Pack, 'evidence'>) {
  const { version, superseded_by } = evidence;
  if (version === 1 && superseded_by === null) return null;
  return <span className="small strong nowrap">Version {version}</span>;
}

/** What became of a related work in one place. */
export function DriftLine({ item }: { item: DriftItem }) {
  return (
    <p className={`${classes.drift} muted compact wrap-anywhere`} data-state={item.state}>
      <DriftSentence item={item} /> <DriftPlace item={item} />
    </p>
  );
}

function DriftSentence({ item }: { item: DriftItem }) {
  if (item.at === null) return 'Unchanged since this pack was received:';
  const at = <TimeText at={item.at} />;
  if (item.state === 'vanished') return <>Vanished {at}:</>;
  if (item.state === 'returned') return <>Changed, but back to its earlier state since {at}:</>;
  if (item.kind === 'source' && item.only_noise) return <>Changed {at}, only in ignored parts:</>;
  return <>Changed {at}:</>;
}

function DriftPlace({ item }: { item: DriftItem }) {
  if (item.kind === 'file') {
    return (
      <>
        <span className="mono">{item.path}</span> in{' '}
        <Link
          to={
            item.newest === item.pack ? `/packs/${item.pack}` : `/packs/${item.pack}/compare/${item.newest}`
          }
        >
          {item.newest === item.pack ? 'a pack' : 'a newer version of its pack'}
        </Link>
      </>
    );
  }
  const { id, name, url } = item.source;
  return <Link to={item.event === null ? `/sources/${id}` : `/timeline/${item.event}`}>{name || url}</Link>;
}

/** A link to a pack. Shows the id until the title is loaded. */
export function PackLink({ id }: { id: string }) {
  const pack = useCall('readPack', { params: { id } });
  return <Link to={`/packs/${id}`}>{pack.data?.title ?? <span className="mono">{id}</span>}</Link>;
}
