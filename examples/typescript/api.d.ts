// Made by types.mjs of the document with this digest, not edited by hand.
// 03cfb9fa4dcc9d12dde64cac5746db949dcb3be303ebbd501341b55fae6f6e8b
export interface paths {
    "/api/v1/cards": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listCards"];
        put?: never;
        post: operations["sendCard"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/cards/{card_code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getCard"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        CardInput: {
            /** Format: date */
            arrive_on?: string;
            design_id?: string;
            handwriting?: string;
            message: string;
            recipient: components["schemas"]["RecipientInput"];
            reference?: string;
        };
        RecipientInput: {
            city: string;
            country?: string;
            line1: string;
            line2?: string;
            name: string;
            state: string;
            zip: string;
        };
        SentCard: {
            arrives_between: components["schemas"]["ArrivalWindow"];
            held_reason: string | null;
            id: string;
            note: string;
            /** @constant */
            object: "card";
            recipient: {
                name: string | null;
            } & {
                [key: string]: unknown;
            };
            reference: string | null;
            /** @enum {string} */
            status: "scheduled" | "held";
            /** Format: uri */
            url: string;
        } & {
            [key: string]: unknown;
        };
        ArrivalWindow: {
            /** Format: date */
            earliest: string;
            /** Format: date */
            latest: string;
        } & {
            [key: string]: unknown;
        };
        Error: {
            error: {
                code: string;
                /** Format: uri */
                docs: string;
                message: string;
                param?: string;
                request_id: string;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        CardList: {
            data: components["schemas"]["CardRow"][];
            has_more: boolean;
            next_cursor: string | null;
            /** @constant */
            object: "list";
        } & {
            [key: string]: unknown;
        };
        CardRow: {
            arrives_between: components["schemas"]["ArrivalWindow"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            erased_at?: string;
            id: string;
            /** Format: date-time */
            mailed_at: string | null;
            /** @constant */
            object: "card";
            recipient: {
                city: string | null;
                name: string | null;
                state: string | null;
            } & {
                [key: string]: unknown;
            };
            reference: string | null;
            /** @enum {string} */
            status: "pending" | "queued" | "in_production" | "written" | "packed" | "posted" | "blocked" | "cancelled" | "failed";
            unreadable?: boolean;
        } & {
            [key: string]: unknown;
        };
        Card: {
            arrives_between: components["schemas"]["ArrivalWindow"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            erased_at?: string;
            handwriting: string;
            held_reason: string | null;
            id: string;
            /** Format: date-time */
            mailed_at: string | null;
            /** @constant */
            object: "card";
            recipient: components["schemas"]["Recipient"];
            reference: string | null;
            /** @enum {string} */
            status: "pending" | "queued" | "in_production" | "written" | "packed" | "posted" | "blocked" | "cancelled" | "failed";
            steps: components["schemas"]["CardStep"][];
            unreadable?: boolean;
            /** Format: uri */
            url: string;
        } & {
            [key: string]: unknown;
        };
        Recipient: {
            city: string | null;
            country: string | null;
            line1: string | null;
            line2: string | null;
            name: string | null;
            state: string | null;
            zip: string | null;
        } & {
            [key: string]: unknown;
        };
        CardStep: {
            /** Format: date-time */
            completed_at: string | null;
            /** @enum {string} */
            status: "pending" | "in_progress" | "completed" | "failed";
            /** @enum {string} */
            step: "card_stock_prepared" | "card_written" | "envelope_addressed" | "packed" | "stamped" | "posted";
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        "Preference-Applied": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listCards: {
        parameters: {
            query?: {
                limit?: number;
                status?: "pending" | "queued" | "in_production" | "written" | "packed" | "posted" | "blocked" | "cancelled" | "failed" | "scheduled" | "held";
                reference?: string;
                starting_after?: string;
            };
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "Preference-Applied": components["headers"]["Preference-Applied"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CardList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: {
                headers: {
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: {
                headers: {
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    sendCard: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CardInput"];
            };
        };
        responses: {
            201: {
                headers: {
                    "Idempotent-Replay"?: string;
                    "Preference-Applied": components["headers"]["Preference-Applied"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SentCard"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: {
                headers: {
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            402: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            409: {
                headers: {
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: {
                headers: {
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getCard: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path: {
                card_code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "Preference-Applied": components["headers"]["Preference-Applied"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Card"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: {
                headers: {
                    "www-authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: {
                headers: {
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
}
