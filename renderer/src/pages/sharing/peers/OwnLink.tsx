import { Modal, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { peerLink } from '../../../../../shared/node/peerLink.ts';
import type { SharingMode } from '../../../../../shared/node/settings.ts';
import { readText } from '../../../api/readText.ts';
import { useCall } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../../components/forms/CopyButton.tsx';
import { QrCode } from '../QrCode.tsx';
import classes from './Peers.module.css';

export interface OwnLinkProps {
  mode: SharingMode;
  opened: boolean;
  onClose: () => void;
}

/** The link with which another node adds this one, also as a QR code, and what its owner can compare. */
export function OwnLink({ mode, opened, onClose }: OwnLinkProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="Link of this node" size="lg">
      {mode === 'off' ? (
        <p>Share this node first. Nobody can reach it while sharing is off.</p>
      ) : (
        <LinkOfAddress />
      )}
    </Modal>
  );
}

function LinkOfAddress() {
  const answer = useCall('readAddresses');
  const key = useQuery({
    queryKey: ['readLedgerKey'],
    queryFn: async ({ signal }) => (await readText('readLedgerKey', signal)).trim(),
  });
  const [chosen, choose] = useState<string>();
  const urls = answer.data?.addresses.map(({ url }) => url) ?? [];
  const url = urls.find((one) => one === chosen) ?? urls[0];
  const error = answer.error ?? key.error;
  if (error) return <ErrorNote error={error} />;
  if (answer.isSuccess && url === undefined) return <p>This machine is not connected to a network.</p>;
  if (url === undefined || key.data === undefined) return <p className="muted">Loading…</p>;
  const tls_fingerprint = url.startsWith('https:') ? answer.data?.tls_fingerprint : undefined;
  const link = peerLink({ url, key: key.data, tls_fingerprint });
  return (
    <div className={classes.own}>
      <div className={classes.ownTexts}>
        <p>
          In the other node, open Sharing, choose “Add a peer” and paste this link. It has the address and the
          key of this node{tls_fingerprint && ', and the fingerprint of its certificate'}. It has no secret.
        </p>
        {urls.length > 1 && (
          <NativeSelect
            label="Address"
            data={urls}
            value={url}
            onChange={(event) => choose(event.currentTarget.value)}
          />
        )}
        <Shown name="Link" text={link} what="the link" />
        <Shown name="Key, to compare" text={key.data} what="the key" />
        {tls_fingerprint && (
          <Shown name="Certificate (SHA-256), to compare" text={tls_fingerprint} what="the fingerprint" />
        )}
      </div>
      <figure className={classes.scan}>
        <QrCode text={link} label="QR code of the link" className={classes.code} />
        <figcaption className="muted small">The same link.</figcaption>
      </figure>
    </div>
  );
}

function Shown({ name, text, what }: { name: string; text: string; what: string }) {
  return (
    <div>
      <p className="muted small">{name}</p>
      <p className={classes.key}>
        <span className="mono small">{text}</span>
        <CopyButton text={text} what={what} />
      </p>
    </div>
  );
}
