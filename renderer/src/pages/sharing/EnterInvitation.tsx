import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { enterInvitation } from '../../api/enterInvitation.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { useSession } from '../../state/session.ts';
import classes from './SharingPage.module.css';

/** Where a visitor who was invited says so; this browser is then known by a cookie that no script can read. */
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
        The owner of this archive takes contributions from those who were invited. Reading needs nothing.
      </p>
      <form className={classes.invite} onSubmit={submit}>
        <TextInput
          label="The token that you were given"
          name="token"
          required
          autoComplete="off"
          spellCheck={false}
          classNames={{ input: 'mono' }}
        />
        <Button type="submit" loading={enter.isPending}>
          Enter
        </Button>
      </form>
      {enter.error && <ErrorNote error={enter.error} />}
    </Section>
  );
}
