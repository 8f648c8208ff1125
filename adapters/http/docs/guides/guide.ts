import type { Html } from '../../web/prose.js';
import type { Context, Part } from '../page.js';

/** The content of a guide, on a service at a certain address. */
export type Guide = (context: Context) => readonly Part[];

export const part = (id: string, title: string, ...body: readonly Html[]): Part => ({ id, title, body });
