// Where the examples keep what they received: a file with one JSON object per line. A line is the effect and
// the memory of the event's id in one write, so that a crash between the two is impossible. In your own
// program this is a table with a unique column for the id, written in one transaction with the effect.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';

export class Inbox {
  #file;
  #ids = new Set();
  /** What was written last, before this start or since; null if there is nothing. */
  last = null;

  constructor(path) {
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    // A crash may have left half a line: it was never acknowledged, so it comes again.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole));
    for (const line of whole.split('\n').filter(Boolean)) this.#remember(JSON.parse(line));
    this.#file = openSync(path, 'a');
  }

  /** Writes an event to disk; false if it was there already. */
  add(event) {
    if (this.#ids.has(event.id)) return false;
    writeSync(this.#file, `${JSON.stringify(event)}\n`);
    fsyncSync(this.#file);
    this.#remember(event);
    return true;
  }

  close() {
    closeSync(this.#file);
  }

  #remember(event) {
    this.#ids.add(event.id);
    this.last = event;
  }
}
