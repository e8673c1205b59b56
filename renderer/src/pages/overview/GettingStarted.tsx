import { Button } from '@mantine/core';
import { IconCircle, IconCircleCheck } from '@tabler/icons-react';
import { Link } from 'react-router';
import classes from './GettingStarted.module.css';

export interface FirstStepsProps {
  hasPack: boolean;
  hasSource: boolean;
}

/** The first steps on a new node. Each disappears when it is done. */
export function GettingStarted({ hasPack, hasSource }: FirstStepsProps) {
  if (hasPack && hasSource) return null;
  return (
    <section className={classes.steps} aria-labelledby="first-steps">
      <h2 id="first-steps">Getting started</h2>
      <ol>
        <Step
          isDone={hasPack}
          title="Publish your first pack"
          description="Add the files of a result, its authors and its outcome. The pack gets a fingerprint that anyone can verify."
          to="/assemble"
          action="New pack"
        />
        <Step
          isDone={hasSource}
          title="Watch your first source"
          description="Enter the URL of a page or a file. It is fetched on a schedule, and every version is kept byte for byte."
          to="/sources?add=1"
          action="Watch a source"
        />
      </ol>
    </section>
  );
}

interface StepProps {
  isDone: boolean;
  title: string;
  description: string;
  to: string;
  action: string;
}

function Step({ isDone, title, description, to, action }: StepProps) {
  const Icon = isDone ? IconCircleCheck : IconCircle;
  return (
    <li data-done={isDone || undefined}>
      <Icon size={22} stroke={1.6} aria-hidden />
      <div>
        <h3>
          {title}
          {isDone && <span className={classes.done}> done</span>}
        </h3>
        <p className="muted">{description}</p>
      </div>
      {!isDone && (
        <Button component={Link} to={to}>
          {action}
        </Button>
      )}
    </li>
  );
}
