import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { failureHint, failureWords } from '../../../../../shared/collection/failureWords.ts';
import type { SourcePreview } from '../../../../../shared/collection/source.ts';
import { PageLabelNote } from '../../../components/content/retrieval/PageLabelNote.tsx';
import { DigestChip } from '../../../components/data/DigestChip.tsx';
import { Facts } from '../../../components/data/Facts.tsx';
import { exactBytes, formatCount } from '../../../format/size.ts';
import classes from './PreviewFindings.module.css';

/** The result of a test fetch and what would be stored. */
export function PreviewFindings({ preview, onLeave }: { preview: SourcePreview; onLeave: () => void }) {
  const { error, status, sha256, bytes, content_type, title, final_url, url, duration_ms, watched_as } =
    preview;
  const isWell = error === null && preview.page_label === null && !watched_as;
  const Icon = isWell ? IconCircleCheck : IconAlertTriangle;
  return (
    <div className={classes.findings} data-well={isWell || undefined}>
      <p className={classes.verdict}>
        <Icon size={18} aria-hidden />
        {error === null
          ? 'This would be stored as the first version.'
          : `${failureWords(error, status)}. ${failureHint(error)}`}
      </p>
      <Warnings preview={preview} onLeave={onLeave} />
      <div className={classes.facts}>
        <Facts
          facts={[
            [
              'Response',
              status === null
                ? null
                : `${status}${error === null ? ' OK' : ''}, ${formatCount(duration_ms)} ms`,
            ],
            [error === null ? 'Final URL' : 'Failed URL', final_url !== url && final_url],
            ['Title', title],
            ['Type', content_type],
            ['Size', bytes !== null && exactBytes(bytes)],
            ['Digest', sha256 && <DigestChip key="digest" digest={sha256} label="digest of the content" />],
          ]}
        />
      </div>
    </div>
  );
}

function Warnings({ preview, onLeave }: { preview: SourcePreview; onLeave: () => void }) {
  const { url, final_url, page_label, watched_as, error } = preview;
  const warnings: [string, ReactNode][] = [];
  if (watched_as) {
    warnings.push([
      'watched',
      <>
        This URL is already watched:{' '}
        <Link to={`/sources/${watched_as}`} onClick={onLeave}>
          open source
        </Link>
        .
      </>,
    ]);
  }
  if (page_label) warnings.push(['label', <PageLabelNote key="label" label={page_label} withReason />]);
  if (final_url !== url && error === null) {
    warnings.push([
      'redirect',
      'The URL redirects. The URL you entered is watched, and the redirect target is recorded at each check.',
    ]);
  }
  if (error !== null) {
    warnings.push([
      'failing',
      'You can watch it anyway. Its first successful retrieval becomes the first version.',
    ]);
  }
  if (warnings.length === 0) return null;
  return (
    <ul className={classes.warnings}>
      {warnings.map(([key, text]) => (
        <li key={key}>{text}</li>
      ))}
    </ul>
  );
}
