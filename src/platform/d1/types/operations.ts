/** Whether the database answers now. */
export type DatabaseState = 'ok' | 'unreachable'
