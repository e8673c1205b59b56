import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { renderSVG } from 'uqr';
import {
  type CreatedInvitation,
  type Invitation,
  newInvitationSchema,
} from '../../../../shared/node/owner.ts';
import type { Sharing, SharingMode } from '../../../../shared/node/settings.ts';
import { enterInvitation } from '../../api/client.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { type Column, DataTable, timeColumn } from '../../components/data/DataTable.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../components/forms/buttons.tsx';
import { useItemForm } from '../../components/forms/DialogForm.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { invitationInText, invitationLink, useInvitationLink, useSession } from '../../state/session.ts';
import classes from './SharingPage.module.css';

/** Creates, lists and revokes invitations. */
export function Invitations({ sharing }: { sharing: Sharing }) {
  const answer = useCall('listInvitations', { query: { limit: 500 } });
  const { form, save: create } = useItemForm({
    route: 'createInvitation',
    initialValues: { name: '' },
    validate: newInvitationSchema,
    request: (values) => ({ body: values }),
    onSaved: () => {
      form.reset();
    },
  });
  const created: CreatedInvitation | undefined = create.data;
  const isInForce = sharing.mode === 'contribute' && sharing.require_invitation;
  return (
    <Section title="Invitations">
      {!isInForce && (
        <p className="muted">
          Invitations are required while contributions are open to invited visitors only. You can create them
          in advance.
        </p>
      )}
      <form
        className="measure-short mt-3 mb-4 cluster gap-3 end"
        onSubmit={form.onSubmit((values) => create.mutate(values))}
      >
        <TextInput
          className="grow"
          label="Name"
          placeholder="Only you can see this name"
          autoComplete="off"
          {...form.getInputProps('name')}
        />
        <Button type="submit" loading={create.isPending}>
          Create invitation
        </Button>
      </form>
      {create.error && <ErrorNote error={create.error} />}
      {created && (
        <InvitationToken key={created.id} invitation={created} mode={sharing.mode} onDone={create.reset} />
      )}
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.data && answer.data.items.length > 0 && <InvitationList invitations={answer.data.items} />}
    </Section>
  );
}

interface InvitationTokenProps {
  invitation: CreatedInvitation;
  mode: SharingMode;
  onDone: () => void;
}

/** A new invitation as a link, a QR code and a token. It cannot be shown again. */
function InvitationToken({ invitation, mode, onDone }: InvitationTokenProps) {
  const panel = useRef<HTMLElement>(null);
  // Moves the focus here, because the invitation is shown only once.
  useEffect(() => panel.current?.focus(), []);
  const { origins, origin, choose } = useOrigin(mode);
  const link = invitationLink(origin, invitation.token);
  return (
    <section
      ref={panel}
      tabIndex={-1}
      aria-label="New invitation"
      className={`${classes.token} mb-4 stack gap-3 items-start measure sheet`}
    >
      <p>
        <strong>{invitation.name ? `Invitation for ${invitation.name}` : 'Invitation'}</strong>: send the link
        to the person, or let them scan the code. It is shown only once. The node stores only its digest.
      </p>
      <div className="cluster gap-6 start">
        <dl className="stack gap-3 grow">
          {origins.length > 1 && (
            <div>
              <dt id="invitation-address">Address</dt>
              <dd>
                <NativeSelect
                  aria-labelledby="invitation-address"
                  data={origins}
                  value={origin}
                  onChange={(event) => choose(event.currentTarget.value)}
                />
              </dd>
            </div>
          )}
          <div>
            <dt>Link</dt>
            <dd>
              <Group gap="xs" wrap="nowrap">
                <span className="mono wrap-anywhere">{link}</span>
                <CopyButton text={link} what="the link" />
              </Group>
            </dd>
          </div>
          <div>
            <dt>Token, for programs</dt>
            <dd>
              <Group gap="xs" wrap="nowrap">
                <code className="wrap-anywhere">{invitation.token}</code>
                <CopyButton text={invitation.token} what="the token" />
              </Group>
            </dd>
          </div>
        </dl>
        <QrCode text={link} label="QR code of the invitation link" caption="Opens the link on a phone." />
      </div>
      {mode !== 'contribute' && (
        <p className="muted">
          Contributions are off at the moment. The invitation takes effect when you turn them on.
        </p>
      )}
      <Button variant="default" size="xs" onClick={onDone}>
        Done
      </Button>
    </section>
  );
}

/** The address in the link. The public address comes first. Without a network there is only that of this page. */
function useOrigin(mode: SharingMode) {
  const answer = useCall('readAddresses', {}, { enabled: mode !== 'off' });
  const [chosen, choose] = useState<string>();
  const found = answer.data?.addresses.map(({ url }) => new URL(url).origin) ?? [];
  const origins = found.length > 0 ? found : [window.location.origin];
  const origin = origins.find((one) => one === chosen) ?? origins[0] ?? window.location.origin;
  return { origins, origin, choose };
}

/** Active invitations, newest first, with their use. */
function InvitationList({ invitations }: { invitations: readonly Invitation[] }) {
  const revoke = useSave('revokeInvitation', (id: string) => ({ params: { id } }));
  const columns: Column<Invitation>[] = [
    { id: 'name', header: 'For', cell: ({ name }) => name || <span className="muted">unnamed</span> },
    timeColumn('Created', ({ created_at }) => created_at, { hideBelow: 'narrow' }),
    timeColumn('Last used', ({ last_used_at }) => last_used_at, { hideBelow: 'narrow' }),
    { id: 'writes', header: 'Writes', width: '5rem', align: 'end', cell: ({ writes }) => writes },
    {
      id: 'revoke',
      header: 'Revoke',
      isHeaderHidden: true,
      width: '7rem',
      align: 'end',
      cell: ({ id, name }) => (
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          aria-label={`Revoke invitation: ${name || 'unnamed'}`}
          loading={revoke.isPending && revoke.variables === id}
          onClick={() => revoke.mutate(id)}
        >
          Revoke
        </Button>
      ),
    },
  ];
  return (
    <>
      {revoke.error && <ErrorNote error={revoke.error} />}
      <DataTable caption="Invitations" columns={columns} rows={invitations} rowKey={({ id }) => id} />
    </>
  );
}

interface QrCodeProps {
  text: string;
  /** The target, for screen readers. */
  label: string;
  caption: string;
}

/** A QR code, dark on light in both themes because many cameras read nothing else. */
export function QrCode({ text, label, caption }: QrCodeProps) {
  const svg = renderSVG(text, { ecc: 'M', border: 3 });
  return (
    <figure className={classes.scan}>
      <img
        src={`data:image/svg+xml,${encodeURIComponent(svg)}`}
        alt={label}
        className={`${classes.code} block full`}
      />
      <figcaption className="muted small">{caption}</figcaption>
    </figure>
  );
}

/** The form for an invitation. The node then sets an HttpOnly cookie. */
export function EnterInvitation() {
  const loadSession = useSession((state) => state.load);
  const link = useInvitationLink();
  const enter = useMutation({ mutationFn: enterInvitation, onSuccess: loadSession });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    // Read from the form once, so that the token is never part of the page's state.
    const typed = new FormData(event.currentTarget).get('token');
    link.clear();
    enter.mutate(invitationInText(typeof typed === 'string' ? typed : ''));
  };
  const error = enter.error ?? (link.state === 'failed' ? link.error : undefined);
  return (
    <Section title="Your invitation">
      <p className="muted">
        The owner accepts contributions from invited visitors. Open your invitation link, scan its QR code, or
        enter its token here. Reading does not require an invitation.
      </p>
      <form className="measure-short mt-3 mb-4 cluster gap-3 end" onSubmit={submit}>
        <TextInput
          className="grow"
          label="Invitation token"
          name="token"
          required
          autoComplete="off"
          spellCheck={false}
          classNames={{ input: 'mono' }}
        />
        <Button type="submit" loading={enter.isPending}>
          Submit
        </Button>
      </form>
      {error !== undefined && <ErrorNote error={error} />}
    </Section>
  );
}
