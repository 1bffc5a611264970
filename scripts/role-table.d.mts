/** The text of docs/api.md with the table of roles in its place. */
export declare function withRoleTable(text: string, document: object): string
