import { ActionIcon, Drawer, Tooltip } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import type { DriftItem } from '../../../../shared/archive/drift.ts';
import {
  type Pack,
  type PackFile,
  parseRelatedIdentifier,
  type ResultValue,
} from '../../../../shared/archive/pack.ts';
import type { License } from '../../../../shared/archive/vocabulary.ts';
import type { PackProvenance } from '../../../../shared/node/peer.ts';
import { doiUrl } from '../../../../shared/values/doi.ts';
import { call, urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { FilePreview } from '../../components/content/FilePreview.tsx';
import { IfReadable, Withheld, WithheldMarkOf } from '../../components/content/Withheld.tsx';
import { DigestChip, Facts, StoredPlace, StoredPlaceMark, TimeText } from '../../components/data/Values.tsx';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { CopyButton } from '../../components/forms/buttons.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { countOf, exactBytes, formatBytes, formatCount, relationLabel } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import { useHidden } from '../../state/withheld.ts';
import { DoiLink } from './PackDeposits.tsx';
import { DriftLine, PackLink } from './PackHeader.tsx';
import classes from './packs.module.css';

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
  const { set, part_of } = pack.evidence;
  return (
    <Facts
      facts={{
        Fingerprint: <DigestChip digest={pack.digest} label="fingerprint" />,
        DOI: pack.evidence.deposits && <Dois deposits={pack.evidence.deposits} />,
        ID: (
          <span className="line inline gap-1">
            <span className="mono small">{pack.id}</span>
            <CopyButton text={pack.id} what="id" />
          </span>
        ),
        Received: <TimeText at={pack.evidence.received_at} show="exact" />,
        'Mirrored from': provenance.data && <MirroredFrom provenance={provenance.data} id={pack.id} />,
        Ledger: <Link to={`/ledger?from=${pack.ledger_entry}`}>Entry {formatCount(pack.ledger_entry)}</Link>,
        'Total file size': exactBytes((set ?? pack.evidence).bytes),
        Set: set && `${countOf(set.files, 'file')} in ${countOf(set.packs, 'pack')}`,
        'Part of': part_of && <PackLink id={part_of} />,
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

/** The DOIs of published deposits; the page of one that has none. */
function Dois({ deposits }: { deposits: NonNullable<Pack['evidence']['deposits']> }) {
  return (
    <ul className="plain stack gap-1">
      {deposits.map(({ doi, url, ledger_entry, peer }) => (
        <li key={ledger_entry} className="wrap-anywhere">
          {doi === null ? (
            <a href={url} target="_blank" rel="noopener noreferrer">
              {url}
            </a>
          ) : (
            <DoiLink doi={doi} />
          )}
          {peer && <span className="muted small"> (according to {peer.name})</span>}
        </li>
      ))}
    </ul>
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
    <span className="cluster gap-3 stretch">
      {keywords.map((keyword) => (
        <Link key={keyword} to={`/packs?keyword=${encodeURIComponent(keyword)}`}>
          {keyword}
        </Link>
      ))}
    </span>
  );
}

/** The related works of a pack, and whether those that this archive knows have changed since. */
function RelatedWorks({ pack }: { pack: Pack }) {
  const drift = useCall('readPackDrift', { params: { id: pack.id } });
  return (
    <ul className="plain stack gap-1">
      {pack.related.map(({ relation, identifier }) => (
        <li key={relation + identifier}>
          <span className="muted">{relationLabel(relation)}</span>{' '}
          <RelatedIdentifier identifier={identifier} />
          {drift.data?.items
            .filter((item) => item.relation === relation && item.identifier === identifier)
            .map((item) => (
              <DriftLine key={keyOf(item)} item={item} />
            ))}
        </li>
      ))}
    </ul>
  );
}

function keyOf(item: DriftItem): string {
  return item.kind === 'source' ? item.source.id : `${item.pack}/${item.path}`;
}

function RelatedIdentifier({ identifier }: { identifier: string }) {
  const parsed = parseRelatedIdentifier(identifier);
  if (parsed.kind === 'digest') return <DigestChip digest={parsed.digest} label="digest of related work" />;
  const address = parsed.kind === 'doi' ? doiUrl(parsed.doi) : identifier;
  if (!/^https?:/i.test(address)) return <span>{identifier}</span>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {identifier}
    </a>
  );
}

/** Results as names and values. Numbers are shown with all their digits. */
export function PackResults({ results }: { results: Readonly<Record<string, ResultValue>> }) {
  return (
    <table className={`${classes.results} full compact`}>
      <caption className="visually-hidden">Results</caption>
      <tbody>
        {Object.entries(results).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td data-type={typeof value}>
              {value === null ? <em className="muted">null</em> : String(value)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Returns the files of a pack whose bytes the person cannot read. */
export function hiddenFiles({ evidence: { withheld, released } }: Pick<Pack, 'evidence'>, isOwner: boolean) {
  return [...(released ?? []), ...(isOwner ? [] : (withheld ?? []))];
}

/** The files of a pack, with digest, preview and download. */
export function PackFiles({ pack }: { pack: Pack }) {
  const {
    files,
    evidence: { bytes },
  } = pack;
  const isOwner = useIsOwner();
  const hidden = hiddenFiles(pack, isOwner).length;
  const [shown, setShown] = useState<PackFile>();
  return (
    <Section
      title="Files"
      actions={
        <span className="muted small numeric">
          {countOf(files.length, 'file')}, {formatBytes(bytes)}
        </span>
      }
    >
      {files.length === 0 ? (
        <p className="muted">This pack has no files, only a record.</p>
      ) : (
        <VirtualList
          label="Files"
          items={files}
          keyOf={(file) => file.path}
          render={(file) => <FileRow file={file} onShow={() => setShown(file)} />}
        />
      )}
      {hidden > 0 && (
        <p className="small muted mt-2">
          {countOf(hidden, 'file')} cannot be read, so the pack cannot be downloaded as one file. The record
          lists the digest of each file.
        </p>
      )}
      <Drawer
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        position="right"
        size="min(56rem, 92vw)"
        title={<span className="mono wrap-anywhere">{shown?.path}</span>}
      >
        {shown && <FileDetails file={shown} />}
      </Drawer>
    </Section>
  );
}

function FileRow({ file, onShow }: { file: PackFile; onShow: () => void }) {
  return (
    <div className={`${classes.row} stack gap-3`}>
      <span className={`${classes.packFilesName} cluster gap-3`}>
        <button type="button" className="bare accent wrap-anywhere" onClick={onShow}>
          {file.path}
        </button>
        <StoredPlaceMark sha256={file.sha256} />
        <WithheldMarkOf target={{ sha256: file.sha256 }} />
      </span>
      <span className={`${classes.type} truncate muted small`}>{file.media_type}</span>
      <Tooltip label={`${formatCount(file.bytes)} bytes`}>
        <span className={`${classes.size} text-end small nowrap numeric`}>{formatBytes(file.bytes)}</span>
      </Tooltip>
      <DigestChip digest={file.sha256} label={`digest of ${file.path}`} />
      <DownloadLink file={file} />
    </div>
  );
}

function DownloadLink({ file }: { file: PackFile }) {
  const isReadable = useHidden({ sha256: file.sha256 }) === null;
  const href = urlOf('readBlob', { params: { sha256: file.sha256 } });
  return <DownloadIcon path={file.path} href={isReadable && href} />;
}

/** Downloads a file. The place of one that cannot be read stays empty, so that the columns of a list stay in line. */
export function DownloadIcon({ path, href }: { path: string; href: string | false }) {
  if (!href) return <span className={classes.noDownload} />;
  return (
    <ActionIcon component="a" href={href} download={path.split('/').at(-1)} aria-label={`Download ${path}`}>
      <IconDownload size={17} />
    </ActionIcon>
  );
}

function FileDetails({ file }: { file: PackFile }) {
  return (
    <div className="stack gap-4">
      <p className="cluster gap-3">
        <span className="muted">
          {file.media_type}, {formatBytes(file.bytes)}
        </span>
        <DigestChip digest={file.sha256} label={`digest of ${file.path}`} />
        <DownloadLink file={file} />
      </p>
      <StoredPlace sha256={file.sha256} />
      <Withheld target={{ sha256: file.sha256 }} what="this file" />
      <IfReadable of={[{ sha256: file.sha256 }]}>
        <FilePreview
          address={urlOf('readBlob', { params: { sha256: file.sha256 } })}
          path={file.path}
          mediaType={file.media_type}
          bytes={file.bytes}
        />
      </IfReadable>
    </div>
  );
}
