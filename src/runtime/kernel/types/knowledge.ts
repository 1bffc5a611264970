/** What a document is read as. `pages`: texts by page, such as the command reads from a PDF. */
export const documentTypes = ['text', 'markdown', 'html', 'pages'] as const
