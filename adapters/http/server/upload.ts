import { Busboy } from '@fastify/busboy';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { DomainError } from '../../../domain/errors.js';
import { ClientGone } from './errors.js';

/** A form with a file, which comes after its fields and is read at the pace of its reader. */
export interface Upload {
  readonly fields: ReadonlyMap<string, string>;
  readonly fileName: string;
  /** Throws `body_too_large`, `invalid_body` and ClientGone. */
  readonly file: AsyncIterable<Buffer>;
}

/** `tooLarge`: what is told of a larger file. */
export interface FileLimit {
  readonly bytes: number;
  readonly tooLarge: string;
}

export const maxFileBytes = 32 * 1024 * 1024;
const usualLimit: FileLimit = {
  bytes: maxFileBytes,
  tooLarge: `The file is larger than ${maxFileBytes / 1024 / 1024} MiB. Make it smaller, or divide it.`,
};
/** Room for the fields and boundaries around the file. */
const roomAround = 64 * 1024;
const maxFields = 20;

const unreadable = (): DomainError => new DomainError('invalid_body', 'The form can’t be read.');

/** `reason`: why reading has stopped. The parser gives errors of its own to a file that breaks off. */
async function* piecesOf(
  file: Readable & { readonly truncated?: boolean },
  tooLarge: Error,
  reason: () => Error | null,
): AsyncGenerator<Buffer> {
  try {
    for await (const piece of file) yield piece as Buffer;
  } catch {
    throw reason() ?? unreadable();
  }
  if (file.truncated === true) throw tooLarge;
}

/**
 * Reads the fields of a form, and gives its file to be read. `onStop` gets a function that ends it with an
 * error, and gives up the rest of the file: to be called when reading stops. Throws `body_too_large`,
 * `invalid_body` and ClientGone.
 */
export const readUpload = (
  request: IncomingMessage,
  onStop: (stop: (error: Error) => void) => void,
  limit = usualLimit,
): Promise<Upload> =>
  new Promise((resolve, reject) => {
    const tooLarge = new DomainError('body_too_large', limit.tooLarge, 'file');
    const fields = new Map<string, string>();
    let file: Readable | null = null;
    let stopped: Error | null = null;
    const parser = parserFor(request, limit.bytes);
    const stop = (error: Error): void => {
      stopped ??= error;
      request.unpipe(parser);
      request.resume();
      file?.destroy(error);
      reject(error);
    };
    if (Number(request.headers['content-length'] ?? 0) > limit.bytes + roomAround) {
      request.resume();
      reject(tooLarge);
      return;
    }
    onStop(stop);
    parser.on('field', (name, value) => void fields.set(name, value.trim()));
    parser.on('file', (_name, stream, fileName) => {
      file = stream;
      // It may break off before it is read, and an error without a listener ends the process.
      stream.on('error', () => undefined);
      // A file that is left unread must not keep the connection waiting.
      stream.once('close', () => {
        request.unpipe(parser);
        request.resume();
      });
      resolve({ fields, fileName: fileName ?? '', file: piecesOf(stream, tooLarge, () => stopped) });
    });
    for (const end of ['error', 'partsLimit', 'fieldsLimit'] as const)
      parser.on(end, () => stop(unreadable()));
    parser.on('finish', () => reject(new DomainError('invalid_body', 'Choose a file.', 'file')));
    request.on('close', () => {
      if (!request.complete) stop(new ClientGone('the client went away before the file was complete'));
    });
    request.pipe(parser);
  });

const parserFor = ({ headers }: IncomingMessage, fileSize: number) => {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      limits: { fields: maxFields, fieldSize: 8 * 1024, files: 1, fileSize, parts: maxFields },
    });
  } catch {
    throw unreadable();
  }
};
