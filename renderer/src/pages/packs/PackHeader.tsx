import type { Pack } from '../../../../shared/archive/pack.ts';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import classes from './PackHeader.module.css';

/** The ORCID iD is shown as a link without ORCID's icon. */
function orcidAddress(orcid: string): string {
  return `https://orcid.org/${orcid}`;
}

export function PackAuthors({ authors }: { authors: Pack['authors'] }) {
  return (
    <ul className={classes.authors}>
      {authors.map((author) => (
        <li key={`${author.name} ${author.orcid}`}>
          <span className={classes.name}>{author.name}</span>
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
    <div className={classes.badges}>
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

/** `Version 2`, for a pack that has an earlier or a later version. */
export function VersionMark({ evidence }: Pick<Pack, 'evidence'>) {
  const { version, superseded_by } = evidence;
  if (version === 1 && superseded_by === null) return null;
  return <span className={classes.version}>Version {version}</span>;
}
