import { Button, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { zod4Resolver } from 'mantine-form-zod-resolver';
import { useState } from 'react';
import { Link } from 'react-router';
import { type Comment, newCommentSchema } from '../../../../shared/archive/comment.ts';
import { fieldErrors } from '../../api/client.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { formatCount } from '../../format.ts';
import { useMayContribute, useNeedsInvitation } from '../../state/session.ts';
import { TimeText } from '../data/Values.tsx';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { Section } from '../layout/Page.tsx';
import classes from './content.module.css';

const MAX_SHOWN = 500;
/** The name last used to comment in this browser. */
const AUTHOR_KEY = 'strongroom-comment-author';

/** The comments on a pack or a study, oldest first, with replies below the comment they answer. */
export function Comments({ item }: { item: string }) {
  const mayContribute = useMayContribute();
  const needsInvitation = useNeedsInvitation();
  const [replyTo, setReplyTo] = useState<Comment>();
  const comments = useCall('listComments', { params: { id: item }, query: { limit: MAX_SHOWN } });
  const all = comments.data?.items ?? [];
  const known = new Set(all.map(({ id }) => id));
  const isTop = ({ reply_to }: Comment) => reply_to === null || !known.has(reply_to);
  return (
    <Section title="Comments">
      {comments.error && <ErrorNote error={comments.error} onRetry={() => void comments.refetch()} />}
      {comments.data && all.length === 0 && <p className="muted">No comments yet.</p>}
      <ol className="plain stack gap-4">
        {all.filter(isTop).map((comment) => (
          <CommentThread
            key={comment.id}
            comment={comment}
            all={all}
            onReply={mayContribute ? setReplyTo : undefined}
          />
        ))}
      </ol>
      {comments.data?.next && <p className="muted small">The first {MAX_SHOWN} comments are shown.</p>}
      {needsInvitation && (
        <p className="muted">
          <Link to="/sharing">Enter an invitation</Link> to comment.
        </p>
      )}
      {mayContribute && (
        <CommentForm
          key={replyTo?.id ?? item}
          item={item}
          replyTo={replyTo}
          // Meanwhile another comment may have been chosen for a reply.
          onDone={() => setReplyTo((now) => (now?.id === replyTo?.id ? undefined : now))}
        />
      )}
    </Section>
  );
}

interface ThreadProps {
  comment: Comment;
  all: readonly Comment[];
  onReply?: (comment: Comment) => void;
}

function CommentThread({ comment, all, onReply }: ThreadProps) {
  const replies = all.filter(({ reply_to }) => reply_to === comment.id);
  return (
    <li className="measure">
      <p className="cluster baseline gap-3">
        <strong>{comment.author}</strong>
        <span className="muted small">
          <TimeText at={comment.at} />,{' '}
          <Link to={`/ledger?from=${comment.ledger_entry}`}>entry {formatCount(comment.ledger_entry)}</Link>
        </span>
        {onReply && (
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => onReply(comment)}
            aria-label={`Reply to ${comment.author}`}
          >
            Reply
          </Button>
        )}
      </p>
      <p className="keep-lines wrap-anywhere">{comment.body}</p>
      {replies.length > 0 && (
        <ol className={`${classes.replies} plain mt-3 stack gap-4`}>
          {replies.map((reply) => (
            <CommentThread key={reply.id} comment={reply} all={all} onReply={onReply} />
          ))}
        </ol>
      )}
    </li>
  );
}

/** Moves the focus to the text field when someone clicks Reply. */
function focusOnce(element: HTMLTextAreaElement | null): void {
  element?.focus();
}

interface CommentFormProps {
  item: string;
  replyTo: Comment | undefined;
  onDone: () => void;
}

/** The form for a comment, and the mutation that sends it. A draft comment survives navigation and a reload. */
function useCommentForm({ item, replyTo, onDone }: CommentFormProps) {
  const draftKey = `comment on ${replyTo?.id ?? item}`;
  const form = useForm({
    initialValues: {
      author: localStorage.getItem(AUTHOR_KEY) ?? '',
      body: sessionStorage.getItem(draftKey) ?? '',
      reply_to: replyTo?.id ?? null,
    },
    onValuesChange: ({ body }) => sessionStorage.setItem(draftKey, body),
    validate: zod4Resolver(newCommentSchema),
  });
  const send = useSave('addComment', (body: typeof form.values) => ({ params: { id: item }, body }), {
    onSaved: ({ author }, sent) => {
      localStorage.setItem(AUTHOR_KEY, author);
      // What was typed while it was sent is the next comment.
      if (form.getValues().body !== sent.body) return;
      form.setFieldValue('body', '');
      form.resetDirty();
      onDone();
    },
    onError: (error) => form.setErrors(fieldErrors(error)),
  });
  return { form, send };
}

function CommentForm(props: CommentFormProps) {
  const { replyTo, onDone } = props;
  const { form, send } = useCommentForm(props);
  return (
    <form className="mt-4 stack gap-3 measure" onSubmit={form.onSubmit((values) => send.mutate(values))}>
      {replyTo && (
        <p className="cluster baseline gap-3">
          <span className="muted">In reply to {replyTo.author}</span>
          <Button variant="subtle" size="compact-xs" onClick={onDone}>
            Cancel reply
          </Button>
        </p>
      )}
      <TextInput
        label="Your name"
        autoComplete="name"
        maw={320}
        key={form.key('author')}
        {...form.getInputProps('author')}
      />
      <Textarea
        label={replyTo ? 'Reply' : 'Comment'}
        description="Comments are recorded in the ledger and cannot be deleted."
        minRows={3}
        maxRows={16}
        ref={replyTo ? focusOnce : undefined}
        key={form.key('body')}
        {...form.getInputProps('body')}
      />
      {send.error && <ErrorNote error={send.error} />}
      <div>
        <Button type="submit" variant="default" loading={send.isPending}>
          {replyTo ? 'Reply' : 'Comment'}
        </Button>
      </div>
    </form>
  );
}
