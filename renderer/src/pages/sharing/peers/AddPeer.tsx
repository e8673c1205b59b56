import { Modal, NativeSelect, Switch, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type NearbyNode,
  type NewPeer,
  type PeerLink,
  parsePeerLink,
  peerLink,
} from '../../../../../shared/node/peer.ts';
import type { SharingMode } from '../../../../../shared/node/settings.ts';
import { readText } from '../../../api/client.ts';
import { useCall } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../../components/forms/buttons.tsx';
import { DialogForm, type ItemForm, useItemForm } from '../../../components/forms/DialogForm.tsx';
import { QrCode } from '../Invitations.tsx';
import classes from '../SharingPage.module.css';

interface AddPeerProps {
  /** A node that was found on the network; undefined for one that the owner names. */
  node: NearbyNode | undefined;
  /** A link that the app was opened with. */
  link: PeerLink | undefined;
}

/** Adds a node by its link, by its address, or from the list of nearby nodes. */
export function AddPeerForm({ node, link }: AddPeerProps) {
  const known = node ?? link;
  const { form, save } = useItemForm<Values, 'addPeer'>({
    route: 'addPeer',
    initialValues: {
      url: known?.url ?? '',
      key: known?.key ?? '',
      tls_fingerprint: known?.tls_fingerprint ?? '',
      cosign: true,
      ask_to_cosign: false,
    },
    validate: ({ url }) => ({ url: url.trim() ? null : 'Enter the address or the link of the node.' }),
    request: (values) => ({ body: requestOf(values) }),
  });
  const { onChange: onAddress, ...address } = form.getInputProps('url');
  return (
    <DialogForm form={form} save={save} submit="Add peer">
      <TextInput
        label="Address or link"
        description="The owner of the other node can find both on the Sharing page. The node must be shared."
        placeholder="http://192.168.1.20:7717"
        data-autofocus
        {...address}
        onChange={(event) => {
          const link = parsePeerLink(event.currentTarget.value);
          if (link) form.setValues({ tls_fingerprint: '', ...link });
          else onAddress(event);
        }}
      />
      <PinnedFields form={form} node={node} />
      <Switch
        label="Cosign its checkpoints"
        description="When the peer asks, this node attests to the history that it has seen."
        {...form.getInputProps('cosign', { type: 'checkbox' })}
      />
      <Switch
        label="Ask it to cosign ours"
        description="Works once its owner has added this node as a peer."
        {...form.getInputProps('ask_to_cosign', { type: 'checkbox' })}
      />
    </DialogForm>
  );
}

interface PinnedFieldsProps extends Pick<AddPeerProps, 'node'> {
  form: Pick<ItemForm<Values, 'addPeer'>['form'], 'getInputProps' | 'getValues'>;
}

/** The key and the certificate that the node must show. */
function PinnedFields({ form, node }: PinnedFieldsProps) {
  const { url, tls_fingerprint } = form.getValues();
  return (
    <>
      <TextInput
        label="Key"
        description={
          node
            ? 'As the node announces it. Anyone on the network can announce any key. Confirm it with the node’s owner by phone or in person.'
            : 'Part of the link. The node must present exactly this key. If you leave it empty, the key that the node presents is pinned; confirm it afterwards.'
        }
        classNames={{ input: 'mono' }}
        spellCheck={false}
        {...form.getInputProps('key')}
      />
      {(tls_fingerprint !== '' || url.trim().startsWith('https:')) && (
        <TextInput
          label="Certificate (SHA-256)"
          description="The node must present exactly this certificate. If you leave it empty, the one that it presents is pinned."
          classNames={{ input: 'mono' }}
          spellCheck={false}
          {...form.getInputProps('tls_fingerprint')}
        />
      )}
    </>
  );
}

interface Values {
  url: string;
  key: string;
  tls_fingerprint: string;
  cosign: boolean;
  ask_to_cosign: boolean;
}

/** Returns the request, without the fields that are empty. A fingerprint may be written with colons. */
function requestOf({ url, key, tls_fingerprint, ...rest }: Values): NewPeer {
  const fingerprint = tls_fingerprint.replaceAll(/[\s:]/g, '').toLowerCase();
  return {
    url: url.trim(),
    ...(key.trim() ? { key: key.trim() } : {}),
    ...(fingerprint ? { tls_fingerprint: fingerprint } : {}),
    ...rest,
  };
}

interface OwnLinkProps {
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
    <div className="cluster gap-6 start">
      <div className="stack gap-4 grow">
        <p>
          In the other node, open Sharing, choose “Add a peer” and paste this link. It contains the address
          and the key of this node{tls_fingerprint && ', and the fingerprint of its certificate'}. It contains
          no secrets.
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
      <QrCode text={link} label="QR code of the link" caption="The same link." />
    </div>
  );
}

function Shown({ name, text, what }: { name: string; text: string; what: string }) {
  return (
    <div>
      <p className="muted small">{name}</p>
      <p className={`${classes.key} wrap-anywhere line gap-2`}>
        <span className="mono small">{text}</span>
        <CopyButton text={text} what={what} />
      </p>
    </div>
  );
}
