import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { Pack } from '../../../../shared/archive/pack.ts';
import type { License } from '../../../../shared/archive/vocabulary.ts';
import type { PackProvenance } from '../../../../shared/node/peer.ts';
import { call, urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { Facts } from '../../components/data/Facts.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { CopyButton } from '../../components/forms/CopyButton.tsx';
import { exactBytes, formatCount } from '../../format/size.ts';
import classes from './PackFacts.module.css';
import { PackLink } from './PackLink.tsx';
import { RelatedWorks } from './RelatedWorks.tsx';

const LICENSE_PAGES: Record<License, string> = {
  'CC-BY-4.0': 'https://creativecommons.org/licenses/by/4.0/',
  'CC0-1.0': 'https://creativecommons.org/publicdomain/zero/1.0/',
};

/** The metadata of a pack. */
export function PackFacts({ pack }: { pack: Pack }) {
  const provenance = useQuery({
    queryKey: ['readProvenance', pack.id],
    // The cache takes no undefined.
    queryFn: async ({ signal }) =>
      (await call('readProvenance', { params: { id: pack.id }, query: { optional: true }, signal })) ?? null,
  });
  return (
    <Facts
      facts={{
        Fingerprint: <DigestChip digest={pack.digest} label="fingerprint" />,
        ID: (
          <span className={classes.inline}>
            <span className="mono small">{pack.id}</span>
            <CopyButton text={pack.id} what="id" />
          </span>
        ),
        Received: <TimeText at={pack.evidence.received_at} show="exact" />,
        'Mirrored from': provenance.data && <MirroredFrom provenance={provenance.data} id={pack.id} />,
        Ledger: <Link to={`/ledger?from=${pack.ledger_entry}`}>Entry {formatCount(pack.ledger_entry)}</Link>,
        'Total file size': exactBytes(pack.evidence.bytes),
        Licence: (
          <a href={LICENSE_PAGES[pack.license]} target="_blank" rel="noopener noreferrer license">
            {pack.license}
          </a>
        ),
        Study: pack.study && <StudyLink id={pack.study} />,
        Subject: pack.node && (
          <Link className="mono small" to={`/nodes/${pack.node}`}>
            {pack.node}
          </Link>
        ),
        Keywords: pack.keywords.length > 0 && <Keywords keywords={pack.keywords} />,
        'Newer version': pack.evidence.superseded_by && (
          <OtherVersion id={pack.evidence.superseded_by} from={pack.id} to={pack.evidence.superseded_by} />
        ),
        'New version of': pack.supersedes && (
          <OtherVersion id={pack.supersedes} from={pack.supersedes} to={pack.id} />
        ),
        'Related works': pack.related.length > 0 && <RelatedWorks pack={pack} />,
        Terms: pack.terms_version,
      }}
    />
  );
}

/** The peer from which a pack came, and the proof that the peer's ledger has it. */
function MirroredFrom({ provenance, id }: { provenance: PackProvenance; id: string }) {
  return (
    <>
      <span className="wrap-anywhere">{provenance.peer.name}</span>
      <br />
      <a className="small" href={urlOf('readProvenance', { params: { id } })}>
        Entry {formatCount(provenance.entry.seq)} of its ledger, with proof
      </a>
    </>
  );
}

/** A link to another version, and to its comparison with this one. */
function OtherVersion({ id, from, to }: { id: string; from: string; to: string }) {
  return (
    <>
      <PackLink id={id} />
      <br />
      <Link className="small" to={`/packs/${from}/compare/${to}`}>
        Compare with this version
      </Link>
    </>
  );
}

function StudyLink({ id }: { id: string }) {
  const study = useCall('readStudy', { params: { id } });
  return <Link to={`/studies/${id}`}>{study.data?.title ?? <span className="mono">{id}</span>}</Link>;
}

function Keywords({ keywords }: { keywords: readonly string[] }) {
  return (
    <span className={classes.keywords}>
      {keywords.map((keyword) => (
        <Link key={keyword} to={`/packs?keyword=${encodeURIComponent(keyword)}`}>
          {keyword}
        </Link>
      ))}
    </span>
  );
}
