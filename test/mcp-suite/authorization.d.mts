/**
 * Opens the consent page, types the key and allows what is asked for.
 *
 * @returns Where the browser is sent then. Throws if there is no page, or it was not allowed.
 */
export function consent(authorizeUrl: string, key: string): Promise<string>
