import { Agent, get } from 'node:http';

/*
 * Readers at a steady rate: `node readers.ts <milliseconds> <url>…` asks for each address every so many milliseconds,
 * whether or not it was answered, until its standard input ends; then it prints for each how long every answer took.
 */

const [every = '20', ...urls] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const waits = urls.map((): number[] => []);
let open = 0;
let isOver = false;

function ask(url: string, taken: number[]): void {
  const started = performance.now();
  open += 1;
  get(url, { agent }, (answer) => {
    answer.resume();
    answer.on('end', () => {
      if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}.`);
      taken.push(performance.now() - started);
      open -= 1;
      finish();
    });
  });
}

function finish(): void {
  if (!isOver || open > 0) return;
  console.log(JSON.stringify(waits));
  agent.destroy();
}

const timers = urls.map((url, index) => setInterval(() => ask(url, waits[index] ?? []), Number(every)));
process.stdin.resume().on('end', () => {
  for (const timer of timers) clearInterval(timer);
  isOver = true;
  finish();
});
