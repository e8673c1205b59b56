import { Switch, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import type { NearbyNode, NewPeer } from '../../../../../shared/node/peer.ts';
import { parsePeerLink } from '../../../../../shared/node/peerLink.ts';
import { call } from '../../../api/client.ts';
import { fieldErrors } from '../../../api/fieldErrors.ts';
import { DialogForm } from '../../../components/forms/DialogForm.tsx';
import { FormDialog, type FormDialogControls } from '../../../components/forms/FormDialog.tsx';
import { useReloadPeers } from './useReloadPeers.ts';

export interface AddPeerProps {
  opened: boolean;
  /** A node that was found on the network; undefined for one that the owner names. */
  node: NearbyNode | undefined;
  onClose: () => void;
}

/** Adds a node by its link, by its address, or from the list of nearby nodes. */
export function AddPeer({ opened, node, onClose }: AddPeerProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Add a peer" size="lg">
      {(controls) => <AddPeerForm node={node} {...controls} />}
    </FormDialog>
  );
}

function AddPeerForm({ node, onDone, ...controls }: FormDialogControls & Pick<AddPeerProps, 'node'>) {
  const reload = useReloadPeers();
  const form = useForm<Values>({
    initialValues: {
      url: node?.url ?? '',
      key: node?.key ?? '',
      tls_fingerprint: node?.tls_fingerprint ?? '',
      cosign: true,
      ask_to_cosign: false,
    },
    validate: { url: (url) => (url.trim() ? null : 'Enter the address or the link of the node.') },
  });
  const add = useMutation({
    mutationFn: (values: Values) => call('addPeer', { body: requestOf(values) }),
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: onDone,
    onSettled: reload,
  });
  const { onChange: onAddress, ...address } = form.getInputProps('url');
  return (
    <DialogForm form={form} controls={controls} save={add} submit="Add peer">
      <TextInput
        label="Address or link"
        description="The owner of the other node finds both under Sharing. The node must be shared."
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
        description="This node then attests which history it saw, when the peer asks for it."
        {...form.getInputProps('cosign', { type: 'checkbox' })}
      />
      <Switch
        label="Ask it to cosign ours"
        description="It does so once its owner has added this node as a peer."
        {...form.getInputProps('ask_to_cosign', { type: 'checkbox' })}
      />
    </DialogForm>
  );
}

interface PinnedFieldsProps extends Pick<AddPeerProps, 'node'> {
  form: Pick<ReturnType<typeof useForm<Values>>, 'getInputProps' | 'getValues'>;
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
            ? 'As the node announces it. Anyone on the network can announce anything: compare it with what the owner of that node reads aloud.'
            : 'A link has it. If you have its key, the node must show exactly this one. Otherwise the key that it shows is pinned, and you compare it afterwards.'
        }
        classNames={{ input: 'mono' }}
        spellCheck={false}
        {...form.getInputProps('key')}
      />
      {(tls_fingerprint !== '' || url.trim().startsWith('https:')) && (
        <TextInput
          label="Certificate (SHA-256)"
          description="The node must show exactly this certificate. If this is empty, the one that it shows is pinned."
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
