/**
 * The outcome of a request can't be told within it. The edge closes the connection without an answer: the retry with the same key finds out.
 * Never turn it into a 5xx, which promises that nothing was charged. (architecture.md, Writing)
 */
export class DropConnection extends Error {
  override readonly name = 'DropConnection';
}
