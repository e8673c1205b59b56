import { Button, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { zod4Resolver } from 'mantine-form-zod-resolver';
import { type CreatedInvitation, newInvitationSchema } from '../../../../shared/node/invitation.ts';
import type { Sharing } from '../../../../shared/node/settings.ts';
import { call } from '../../api/client.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { InvitationList } from './InvitationList.tsx';
import { InvitationToken } from './InvitationToken.tsx';
import classes from './SharingPage.module.css';

/** Creates, lists and revokes invitations. */
export function Invitations({ sharing }: { sharing: Sharing }) {
  const queries = useQueryClient();
  const answer = useCall('listInvitations', { query: { limit: 500 } });
  const form = useForm({ initialValues: { name: '' }, validate: zod4Resolver(newInvitationSchema) });
  const create = useMutation({
    mutationFn: (values: { name: string }) => call('createInvitation', { body: values }),
    onSuccess: async () => {
      form.reset();
      await queries.invalidateQueries({ queryKey: callKey('listInvitations') });
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
      <form className={classes.invite} onSubmit={form.onSubmit((values) => create.mutate(values))}>
        <TextInput
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
