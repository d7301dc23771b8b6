import { type OpenedModel, type ProviderOptions, requiredApiKey, sdkSettings } from "../../models/provider.ts";

interface OpenAiPackage {
  createOpenAI(settings: object): (modelId: string) => object;
}

export async function open(sdk: unknown, modelId: string, options: ProviderOptions): Promise<OpenedModel> {
  const apiKey = requiredApiKey("openai", options, "OPENAI_API_KEY");
  const provider = (sdk as OpenAiPackage).createOpenAI({ apiKey, ...sdkSettings(options) });
  return { languageModel: provider(modelId), secrets: [apiKey] };
}
