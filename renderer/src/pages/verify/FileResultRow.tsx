import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconClock,
  IconFileUnknown,
  IconShieldX,
  type TablerIcon,
} from '@tabler/icons-react';
import { Link } from 'react-router';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { formatBytes } from '../../format/size.ts';
import { type FileResult, VERDICT_WORDS, type Verdict } from './fileResults.ts';
import classes from './VerifyPage.module.css';

const ICONS: Record<Verdict, TablerIcon> = {
  waiting: IconCircleDashed,
  intact: IconCircleCheck,
  changed: IconShieldX,
  in_archive: IconCircleCheck,
  unknown: IconFileUnknown,
  pending: IconClock,
  missing: IconFileUnknown,
  unreadable: IconAlertTriangle,
};

/** One file: the verdict, its path, its digest and where the archive has it. */
export function FileResultRow({ result }: { result: FileResult }) {
  const { path, bytes, sha256, expected, list, verdict, found, error } = result;
  const Icon = ICONS[verdict];
  return (
    <div className={classes.row}>
      <span className={classes.verdict} data-verdict={verdict}>
        <Icon size={16} stroke={1.8} aria-hidden /> {VERDICT_WORDS[verdict]}
      </span>
      <span className={classes.file}>
        <span className="wrap-anywhere">{path}</span>
        <span className={classes.about}>
          {bytes !== null && <span>{formatBytes(bytes)}</span>}
          {sha256 && <DigestChip digest={sha256} label="digest of the file" />}
          {verdict === 'changed' && expected && (
            <span>
              expected <DigestChip digest={expected} label="expected digest" />
            </span>
          )}
          {list && <span>according to {list}</span>}
          {found?.pack && <Link to={`/packs/${found.pack.id}`}>pack file {found.pack.path}</Link>}
          {found?.source && <Link to={`/sources/${found.source.id}`}>{found.source.url}</Link>}
          {error && <span>{error}</span>}
        </span>
      </span>
    </div>
  );
}
