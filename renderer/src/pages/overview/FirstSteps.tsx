import { Button } from '@mantine/core';
import { IconCircle, IconCircleCheck } from '@tabler/icons-react';
import { Link } from 'react-router';
import classes from './FirstSteps.module.css';

export interface FirstStepsProps {
  hasPack: boolean;
  hasSource: boolean;
}

/** What to do on a fresh node; gone as soon as it is done. */
export function FirstSteps({ hasPack, hasSource }: FirstStepsProps) {
  if (hasPack && hasSource) return null;
  return (
    <section className={classes.steps} aria-labelledby="first-steps">
      <h2 id="first-steps">First steps</h2>
      <ol>
        <Step
          isDone={hasPack}
          title="Publish a first pack"
          says="Drop the files of a result, say who made it and what came out. It gets a fingerprint that anybody can check."
          to="/assemble"
          action="Assemble a pack"
        />
        <Step
          isDone={hasSource}
          title="Watch a first source"
          says="Give the address of a page or a file. It is fetched again and again, and every version is kept byte for byte."
          to="/sources?add=1"
          action="Add a source"
        />
      </ol>
    </section>
  );
}

interface StepProps {
  isDone: boolean;
  title: string;
  says: string;
  to: string;
  action: string;
}

function Step({ isDone, title, says, to, action }: StepProps) {
  const Icon = isDone ? IconCircleCheck : IconCircle;
  return (
    <li data-done={isDone || undefined}>
      <Icon size={22} stroke={1.6} aria-hidden />
      <div>
        <h3>
          {title}
          {isDone && <span className={classes.done}> done</span>}
        </h3>
        <p className="muted">{says}</p>
      </div>
      {!isDone && (
        <Button component={Link} to={to}>
          {action}
        </Button>
      )}
    </li>
  );
}
