/** The text of docs/openapi.json. */
export declare function openApiText(): Promise<string>
