import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { enterInvitation } from '../../api/enterInvitation.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { useSession } from '../../state/session.ts';
import classes from './SharingPage.module.css';

/** The form for an invitation token. The node then sets an HttpOnly cookie. */
export function EnterInvitation() {
  const loadSession = useSession((state) => state.load);
  const enter = useMutation({ mutationFn: enterInvitation, onSuccess: loadSession });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    enter.mutate(event.currentTarget);
  };
  return (
    <Section title="Your invitation">
      <p className="muted">
        The owner accepts contributions from invited visitors. Reading does not require an invitation.
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
      {enter.error && <ErrorNote error={enter.error} />}
    </Section>
  );
}
