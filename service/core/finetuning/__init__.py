"""How much GPU memory a fine-tuning needs: full, LoRA or QLoRA, per GPU under ZeRO or FSDP."""
