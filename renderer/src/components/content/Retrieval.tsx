import {
  IconAlertTriangle,
  IconBrowser,
  IconBuildingArch,
  IconFileUpload,
  IconInfoCircle,
  IconServer2,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { type PageLabel } from '../../../../shared/collection/event.ts';
import {
  BROWSER,
  foreignWords,
  handedInWords,
  isOwnObserver,
  observerWords,
} from '../../../../shared/collection/observers.ts';
import type { Connection } from '../../../../shared/collection/retrieval.ts';
import { protocolWords, serverWords } from '../../../../shared/collection/retrievalWords.ts';
import { inQuotes } from '../../../../shared/values/quotes.ts';
import { useVerified } from '../../state/objectChecks.ts';
import { DigestChip } from '../data/Values.tsx';
import { LazyTooltip } from '../feedback/LazyTooltip.tsx';
import classes from './content.module.css';

/** Who observed it: this node, or a third party whose capture this node imported. */
export function ObserverText({ observer }: { observer: string }) {
  const isOwn = isOwnObserver(observer);
  const handedIn = handedInWords(observer);
  const Icon =
    observer === BROWSER ? IconBrowser : isOwn ? IconServer2 : handedIn ? IconFileUpload : IconBuildingArch;
  const meaning =
    observer === BROWSER
      ? 'The page as this node’s isolated browser drew it, from responses that this node fetched and stored.'
      : isOwn
        ? 'Retrieved from the source by this node.'
        : handedIn
          ? `${handedIn}. A person handed in what their own browser showed. The file and its digests prove what was handed in, not what the address answered.`
          : `Observed by ${foreignWords(observer)}. This node imported the capture and did not retrieve the source itself.`;
  return (
    <LazyTooltip label={meaning} maxWidth={300}>
      {(trigger) => (
        <span
          {...trigger}
          className={`${classes.observer} line inline gap-1 baseline muted nowrap`}
          data-third-party={!isOwn || undefined}
        >
          <Icon size={14} stroke={1.8} aria-hidden />
          <span className="cut">
            {isOwn || handedIn ? observerName(observer) : `third party: ${inQuotes(observer)}`}
          </span>
        </span>
      )}
    </LazyTooltip>
  );
}

/** The digest of an archived object, marked if this browser has verified the bytes. */
export function ObjectDigest({ sha256, label }: { sha256: string; label: string }) {
  return <DigestChip digest={sha256} label={label} verified={useVerified(sha256)} />;
}

/** What a label says of a version. */
export const LABEL_WORDS: Record<PageLabel['label'], string> = {
  error_page: 'looks like an error page',
  bot_wall: 'looks like a bot check',
  rate_limit: 'looks like a rate limit',
  script_shell: 'built by scripts',
};

/** A warning about a successful response that may not be the expected page, with the reason. */
export function PageLabelNote({ label, withReason = false }: { label: PageLabel; withReason?: boolean }) {
  const text = (
    <>
      <IconAlertTriangle size={14} stroke={1.9} aria-hidden />
      {withReason && label.label === 'script_shell' ? label.reason : LABEL_WORDS[label.label]}
      {withReason && label.label !== 'script_shell' && `: ${label.reason}`}
    </>
  );
  if (withReason) return <span className="line inline gap-1 baseline warn">{text}</span>;
  return (
    <LazyTooltip label={label.reason} maxWidth={320}>
      {(trigger) => (
        <span {...trigger} className="line inline gap-1 baseline warn">
          {text}
        </span>
      )}
    </LazyTooltip>
  );
}

/** What it means that several observers have the same bytes. */
export const CORROBORATION_MEANING =
  'These observers have exactly the same bytes for this source. This does not prove that they are independent: one may have copied from another. If no other observer has the bytes, that proves nothing either.';

/** Other observers with the same bytes. The tooltip explains what that means. */
export function Corroboration({ observers }: { observers: readonly string[] }) {
  return (
    <LazyTooltip label={CORROBORATION_MEANING} maxWidth={340}>
      {(trigger) => (
        // Focusable, because the explanation exists only in the tooltip.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <span {...trigger} className={`${classes.held} wrap-anywhere`} tabIndex={0}>
          {observers.map(observerName).join(', ')}
          <IconInfoCircle size={14} aria-hidden />
          <span className="visually-hidden">. {CORROBORATION_MEANING}</span>
        </span>
      )}
    </LazyTooltip>
  );
}

export function observerName(observer: string): string {
  return observerWords(observer, { self: 'this node', browser: 'this node’s browser' });
}

/** Returns how a retrieval was fetched, as facts for a list: the server, the protocol, the names and the certificates. */
export function connectionFacts(connection: Connection | undefined): Record<string, ReactNode> {
  if (!connection) return {};
  const { dns, tls } = connection;
  return {
    'Answered by': serverWords(connection),
    Protocol: protocolWords(connection),
    'Resolved addresses': dns !== null && dns.join(', '),
    Certificates: tls && tls.certificates.length > 0 && <Chain tls={tls} />,
  };
}

/** The server's certificate, then its issuers'; each can be downloaded. */
function Chain({ tls }: { tls: NonNullable<Connection['tls']> }) {
  return (
    <>
      {tls.certificates.map(({ sha256 }, index) => (
        <span key={sha256}>
          <ObjectDigest sha256={sha256} label={`digest of certificate ${index + 1}`} />{' '}
          <a href={`/archive/${sha256}`} download={`certificate-${sha256.slice(0, 8)}.cer`}>
            {index === 0 ? 'server' : 'issuer'}
          </a>{' '}
        </span>
      ))}
    </>
  );
}
