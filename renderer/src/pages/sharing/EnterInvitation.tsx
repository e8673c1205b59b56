import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { enterInvitation } from '../../api/enterInvitation.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { invitationInText, useInvitationLink } from '../../state/invitationLink.ts';
import { useSession } from '../../state/session.ts';
import classes from './SharingPage.module.css';

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
      <form className={classes.invite} onSubmit={submit}>
        <TextInput
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
