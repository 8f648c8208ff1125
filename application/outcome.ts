import type { CommandId } from '../domain/ids.js';

/**
 * What became of the command can't be told within the request: the connection is dropped without an answer,
 * and the retry with the same key finds out.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';

  constructor(readonly command: CommandId) {
    super('the outcome of an append is unknown');
  }
}

/** Writers kept getting in the way, and nothing of ours is written. */
export class TooContended extends Error {
  override readonly name = 'TooContended';
}
