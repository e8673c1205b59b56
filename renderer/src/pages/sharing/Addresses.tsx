import { useState } from 'react';
import type { SharingMode } from '../../../../shared/settings.ts';
import { useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../components/forms/CopyButton.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { QrCode } from './QrCode.tsx';
import classes from './SharingPage.module.css';

/** A machine that moves to another network is followed by the node, and by this page. */
const LOOK_AGAIN_MS = 15_000;

/** Where others reach the node, to be copied, read out or scanned. */
export function Addresses({ mode }: { mode: SharingMode }) {
  const isShared = mode !== 'off';
  const answer = useCall('readAddresses', {}, { enabled: isShared, refetchInterval: LOOK_AGAIN_MS });
  const [chosen, choose] = useState<string>();
  const addresses = isShared ? (answer.data?.addresses ?? []) : [];
  const scanned = addresses.find(({ url }) => url === chosen) ?? addresses[0];
  return (
    <Section title="Addresses">
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {!isShared && <p className="muted">While sharing is off, the network cannot reach this node at all.</p>}
      {isShared && answer.isSuccess && addresses.length === 0 && (
        <p className="muted">This machine is on no network now. Addresses appear here when it is.</p>
      )}
      {scanned && (
        <div className={classes.addresses}>
          <ul className={classes.list}>
            {addresses.map(({ url, interface: name }) => (
              <li key={url}>
                <button
                  type="button"
                  aria-pressed={url === scanned.url}
                  className={`${classes.address} mono`}
                  onClick={() => choose(url)}
                >
                  {url}
                </button>
                <span className="muted small">{name}</span>
                <CopyButton text={url} what="the address" />
              </li>
            ))}
          </ul>
          <figure className={classes.scan}>
            <QrCode text={scanned.url} label={`QR code of ${scanned.url}`} className={classes.code} />
            <figcaption className="muted small">Scan it with a phone on the same network.</figcaption>
          </figure>
        </div>
      )}
    </Section>
  );
}
