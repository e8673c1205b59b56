import { useState } from 'react';
import type { SharingMode } from '../../../../shared/node/settings.ts';
import { useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../components/forms/CopyButton.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { QrCode } from './QrCode.tsx';
import classes from './SharingPage.module.css';

/** Follows changes of the machine's network. */
const LOOK_AGAIN_MS = 15_000;

/** The addresses of this node for other devices, as text and QR code. */
export function Addresses({ mode }: { mode: SharingMode }) {
  const isShared = mode !== 'off';
  const answer = useCall('readAddresses', {}, { enabled: isShared, refetchInterval: LOOK_AGAIN_MS });
  const [chosen, choose] = useState<string>();
  const addresses = isShared ? (answer.data?.addresses ?? []) : [];
  const scanned = addresses.find(({ url }) => url === chosen) ?? addresses[0];
  return (
    <Section title="Addresses">
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {!isShared && (
        <p className="muted">While sharing is off, this node cannot be reached from the network.</p>
      )}
      {isShared && answer.isSuccess && addresses.length === 0 && (
        <p className="muted">This machine is not connected to a network.</p>
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
            <figcaption className="muted small">Scan with a phone on the same network.</figcaption>
          </figure>
        </div>
      )}
    </Section>
  );
}
